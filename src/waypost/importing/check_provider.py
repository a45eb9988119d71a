"""Makes sure that a provider answers and accepts us, before anything is enqueued."""

import asyncio
import random
from itertools import count

from waypost.importing.source import ProviderRefused, ProviderUnavailable, Source
from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import monotonic
from waypost.scaling.ratelimit.budget import Budget
from waypost.telemetry.logs import get_logger

log = get_logger("import")

_TRIES = 5
_BASE_SECONDS, _CAP_SECONDS = 0.5, 2.0
# A provider that takes this long to answer is away; nobody should have to wait for that several times.
_SLOW_SECONDS = 5.0


async def check_provider(source: Source, budget: Budget, *, max_wait: float, rng: random.Random) -> None:
    """Sends one small request, so that a wrong key or a provider that is away leaves no dead jobs.

    A fault that may pass is not a reason to give up: the request is sent again a few times, each within the budget,
    and after a refusal only when the provider's pause is over, unless that is longer than `max_wait`.
    """
    key = source.budget_key
    if key is None:  # no provider is asked, so waiting changes nothing
        await source.check()
        return
    for tried in count(1):
        await budget.acquire(key, max_wait=max_wait)
        sent = monotonic()
        try:
            await source.check()
        except ProviderRefused as refusal:
            refusal.retry_in = await budget.penalise(key, refusal.retry_after)
            if tried == _TRIES or refusal.retry_in > max_wait:
                raise
            # The next turn comes after the pause.
            log.warning("the provider is asked again", message=str(refusal), retry_in=refusal.retry_in)
        except ProviderUnavailable as fault:
            if tried == _TRIES or monotonic() - sent > _SLOW_SECONDS:
                raise
            pause = full_jitter(tried, base=_BASE_SECONDS, cap=_CAP_SECONDS, rng=rng)
            log.warning("the provider is asked again", message=str(fault), retry_in=pause)
            await asyncio.sleep(pause)
        else:
            budget.succeeded(key)
            return
