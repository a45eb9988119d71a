"""Waiting for something to come true, without sleeping for a guessed time."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    while not await is_so():  # noqa: ASYNC110 - what we wait for happens in a server, which sets no event of ours
        await asyncio.sleep(0)
