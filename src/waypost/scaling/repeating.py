"""Work that a process repeats for as long as it lives, whatever becomes of it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from waypost.kernel.errors import WaypostError

if TYPE_CHECKING:
    from waypost.telemetry.logs import Logger


async def repeat(
    work: Callable[[], Awaitable[object]],
    every: float,
    *,
    log: "Logger",
    failing: str,
    at_once: bool = True,
) -> None:
    """Runs until cancelled. What fails, also by a defect, is tried again; `failing` says what that means for now.

    One failure after another is told once, until it is a different one or the work is done again.
    """
    told = None
    if not at_once:
        await asyncio.sleep(every)
    while True:
        try:
            await work()
            told = None
        except WaypostError as error:
            if told != str(error):
                log.warning(failing, error=error.slug, message=str(error))
            told = str(error)
        except Exception as defect:
            if told != repr(defect):
                log.exception("%s, because of a defect", failing)
            told = repr(defect)
        await asyncio.sleep(every)
