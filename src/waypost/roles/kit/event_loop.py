"""Runs one role in an event loop until it ends or is asked to stop."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import uvloop

from waypost.kernel.stopping import Stop

Result = TypeVar("Result")

# A signal that comes again within this time is the same request: the kernel tells of a parent's end once for each of
# the parent's threads.
_SAME_REQUEST_SECONDS = 0.5


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
