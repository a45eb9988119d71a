"""Commands that look into the store, and have no business making one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from waypost.bootstrap.stores import Stores, open_stores
from waypost.settings import Settings

Result = TypeVar("Result")


def with_stores(settings: Settings, work: Callable[[Stores], Awaitable[Result]]) -> Result:
    async def main() -> Result:
        async with open_stores(settings, must_exist=True) as stores:
            return await work(stores)

    return asyncio.run(main())
