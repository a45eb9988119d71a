"""Brings this machine's snapshots up to date with those of another, once or repeatedly."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from waypost.kernel.errors import WaypostError
from waypost.kernel.stopping import Stop, Stopped
from waypost.serving.pulling.origin import Origin
from waypost.serving.pulling.pulling import Progress, Pulled, Puller
from waypost.serving.shelf import Shelf
from waypost.telemetry.logs import get_logger

log = get_logger("pull")

# Machines that were started together should not ask together.
_SOONEST, _LATEST = 0.75, 1.25


async def pull_once(
    origin: Origin,
    shelf: Shelf,
    stop: Stop,
    *,
    keep: int,
    generation: str | None = None,
    progress: Progress | None = None,
) -> Pulled:
    """Pulls a generation, then removes those beyond the number to keep."""
    try:
        pulled = await stop.interrupting(Puller(origin, shelf, progress=progress).pull(generation))
    except Stopped:
        raise Stopped("stopped; what has arrived is kept, and the same command goes on with it") from None
    await asyncio.to_thread(shelf.prune, keep)
    return pulled


async def pull_repeatedly(
    origin: Origin, shelf: Shelf, stop: Stop, *, keep: int, every: float, on_pulled: Callable[[Pulled], None]
) -> None:
    """Pulls until asked to stop. A failure is logged once, and tried again the next time."""
    rng = random.Random()  # noqa: S311 - it spreads requests and keeps no secret
    puller, told = Puller(origin, shelf, rng=rng), ""
    while not stop.is_set():
        try:
            pulled = await stop.interrupting(puller.pull())
            told = ""
            if pulled.moved:
                on_pulled(pulled)
                await asyncio.to_thread(shelf.prune, keep)
        except Stopped:
            return
        except WaypostError as error:
            if str(error) != told:
                log.warning("pulling failed and is tried again", error=error.slug, message=str(error))
            told = str(error)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), every * rng.uniform(_SOONEST, _LATEST))
