"""Being asked to stop: what long work looks at, and how it is broken off."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from waypost.kernel.errors import TransientError
from waypost.kernel.tasks import end

Result = TypeVar("Result")


class Stopped(TransientError):
    """Asked to stop before anything had begun; the same command can be given again."""

    exit_code = 130


class Stop:
    """Set by the first SIGINT or SIGTERM; a second one ends the process the hard way."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.signal: signal.Signals | None = None

    def set(self, cause: signal.Signals | None = None) -> None:
        self.signal = cause
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    async def wait(self) -> None:
        await self._event.wait()

    async def interrupting(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Returns what the work returns. If a stop comes first, the work is broken off and Stopped is raised."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self.wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            return working.result()
        await end(working)
        raise Stopped("stopped before it began")

    @property
    def exit_code(self) -> int:
        """130 after Ctrl-C, as shells have it. Being asked to end by SIGTERM is not a failure."""
        return 130 if self.signal is signal.SIGINT else 0
