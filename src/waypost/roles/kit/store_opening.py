"""Opens stores that may not be up yet: after a power cut nobody knows which machine comes back first."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import TypeVar

from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import StoreTrouble
from waypost.kernel.stopping import Stop
from waypost.scaling.jobs.store_trouble import Trouble
from waypost.telemetry.logs import get_logger

log = get_logger("stores")

Opened = TypeVar("Opened")

_PAUSE_SECONDS = 3.0


async def open_patiently(
    opening: Callable[[], AbstractAsyncContextManager[Opened]], stack: AsyncExitStack, stop: Stop, *, patience: float
) -> Opened | None:
    """Tries until it succeeds, and returns None if asked to stop first. Raises trouble that lasts for `patience`."""
    trouble = Trouble(patience)
    rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
    while not stop.is_set():
        try:
            return await stack.enter_async_context(opening())
        except StoreTrouble as error:
            trouble.note(error, monotonic())
            trouble.raise_if_it_lasts()
            log.warning("waiting for the store", error=error.slug, message=str(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), full_jitter(1, base=_PAUSE_SECONDS, cap=_PAUSE_SECONDS, rng=rng))
    return None
