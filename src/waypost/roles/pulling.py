"""Keeps the snapshots of this machine like those of another: once, or again and again."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from waypost.bootstrap.snapshots import open_origin
from waypost.kernel.errors import WaypostError
from waypost.roles.kit.loop import Stop, Stopped
from waypost.serving.pulling.pulling import Progress, Pulled, Puller
from waypost.serving.shelf import Shelf
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("pull")

# Machines that were started together shall not ask together.
_SOONEST, _LATEST = 0.75, 1.25


async def pull_once(
    settings: Settings, url: str, stop: Stop, *, generation: str | None = None, progress: Progress | None = None
) -> Pulled:
    """Generations beyond the number to keep go afterwards."""
    async with open_origin(url) as origin:
        puller = Puller(origin, Shelf(settings.snapshots), progress=progress)
        try:
            pulled = await stop.interrupting(puller.pull(generation))
        except Stopped:
            raise Stopped("stopped; what has arrived is kept, and the same command goes on with it") from None
    await _prune(settings)
    return pulled


async def pull_repeatedly(
    settings: Settings, url: str, stop: Stop, *, every: float, on_pulled: Callable[[Pulled], None]
) -> None:
    """Until asked to stop. What fails is told once, and tried again at the next look."""
    rng = random.Random()  # noqa: S311 - it spreads requests and keeps no secret
    told = ""
    async with open_origin(url) as origin:
        puller = Puller(origin, Shelf(settings.snapshots), rng=rng)
        while not stop.is_set():
            try:
                pulled = await stop.interrupting(puller.pull())
                told = ""
                if pulled.moved:
                    on_pulled(pulled)
                    await _prune(settings)
            except Stopped:
                return
            except WaypostError as error:
                if str(error) != told:
                    log.warning("pulling failed and is tried again", error=error.slug, message=str(error))
                told = str(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), every * rng.uniform(_SOONEST, _LATEST))


async def _prune(settings: Settings) -> None:
    await asyncio.to_thread(Shelf(settings.snapshots).prune, settings.serving.keep)
