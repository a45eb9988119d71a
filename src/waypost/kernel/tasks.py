"""Tasks beside other work, and ending them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

_AGAIN_SECONDS = 0.5


async def end(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel tasks and wait for their end, whatever it is.

    It cancels again and again, if need be: a driver may lose a cancellation that arrives together with an answer, and
    a caller that awaits the task after one `cancel` would then wait for ever.
    """
    while waiting := [task for task in tasks if not task.done()]:
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting, timeout=_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await end(task)
