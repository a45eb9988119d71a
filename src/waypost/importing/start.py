"""Starts an import: checks that the provider accepts us, and enqueues what was planned. Workers do the rest."""

import asyncio
import random
from itertools import count

import msgspec

from waypost.importing.imports import ImportStore
from waypost.importing.plan import PlannedImport
from waypost.importing.source import ProviderRefused, ProviderUnavailable, Source
from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import monotonic
from waypost.places.licence import remember_licence
from waypost.scaling.fact_store import Facts
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.ratelimit.budget import Budget
from waypost.telemetry.logs import get_logger

log = get_logger("import")

PROVIDER = "provider"
# How the provider that `up` simulates is remembered, because its address changes from start to start.
SIMULATED = "simulated provider of"
_TRIES = 5
_BASE_SECONDS, _CAP_SECONDS = 0.5, 2.0
# A provider that takes this long to answer is away; nobody should have to wait for that several times.
_SLOW_SECONDS = 5.0


class Started(msgspec.Struct, frozen=True):
    """An import that was enqueued, with the number of its shards."""

    id: str
    shards: int


async def start_import(
    planned: PlannedImport,
    source: Source,
    budget: Budget,
    imports: ImportStore,
    jobs: JobStore,
    facts: Facts,
    *,
    max_wait: float,
) -> Started:
    rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
    await check_provider(source, budget, max_wait=max_wait, rng=rng)
    await remember_provider(facts, source)
    await imports.start(planned.started)
    await jobs.enqueue([NewJob(str(shard)) for shard in planned.shards], group=planned.id)
    if await _is_cancelled(imports, planned.id):
        await jobs.cancel(planned.id)
    return Started(planned.id, len(planned.shards))


async def remember_provider(facts: Facts, source: Source) -> None:
    """Remembers a source's provider and licence. Each source has one; `up` asks which one Open Charge Map's is."""
    fact = PROVIDER if source.name == "ocm" else f"{PROVIDER}:{source.name}"
    await remember_licence(facts, source.name, source.licence)
    known = await facts.get(fact)
    if known is None:
        await facts.set(fact, source.provider)
    elif known != source.provider and not known.startswith(SIMULATED):
        # It may well be the same one at another address; only a person can tell.
        log.warning("the places here came from another address so far", so_far=known, now=source.provider)


async def _is_cancelled(imports: ImportStore, import_id: str) -> bool:
    known = await imports.get(import_id)
    return known is not None and known.status == "cancelled"


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
