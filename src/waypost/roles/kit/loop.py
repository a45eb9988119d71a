"""Runs one role in an event loop until it ends or is asked to stop."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import uvloop

from waypost.kernel.errors import TransientError
from waypost.kernel.tasks import end

Result = TypeVar("Result")

# A signal that comes again within this time is the same request: the kernel tells of a parent's end once for each of
# the parent's threads.
_SAME_REQUEST_SECONDS = 0.5


class Stopped(TransientError):
    """Asked to stop before anything had begun; the same command can be given again."""

    slug = "stopped"
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
        """What the work brings, unless somebody asks to stop before: then it is broken off."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self.wait())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            return working.result()
        await end(working)
        raise Stopped("stopped before it began")

    @property
    def exit_code(self) -> int:
        """As shells have it: 130 after Ctrl-C. To be asked to end by SIGTERM is no failure."""
        return 130 if self.signal is signal.SIGINT else 0


def run(role: Callable[[Stop], Awaitable[Result]]) -> tuple[Result, Stop]:
    async def main() -> tuple[Result, Stop]:
        stop = Stop()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _on_signal, loop, number, stop)
        return await role(stop), stop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def _on_signal(loop: asyncio.AbstractEventLoop, number: signal.Signals, stop: Stop) -> None:
    if not stop.is_set():
        stop.set(number)
    loop.call_later(_SAME_REQUEST_SECONDS, _let_it_kill, loop, number)


def _let_it_kill(loop: asyncio.AbstractEventLoop, number: signal.Signals) -> None:
    loop.remove_signal_handler(number)
    signal.signal(number, signal.SIG_DFL)
