"""Calls as a worker makes them: trouble of the store is nobody's fault, and passes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from waypost.kernel.errors import StoreTrouble

Result = TypeVar("Result")


async def patiently(call: Callable[[], Awaitable[Result]]) -> Result:
    """Again and again while the store is in trouble; the limit is the test's own time-out."""
    while True:
        try:
            return await call()
        except StoreTrouble:
            await asyncio.sleep(0.05)
