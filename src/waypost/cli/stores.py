"""Opens the store for the time of one command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from waypost.bootstrap.stores import SharingStores, Stores, open_sharing_stores, open_stores
from waypost.settings import Settings

Result = TypeVar("Result")


def with_stores(settings: Settings, work: Callable[[Stores], Awaitable[Result]]) -> Result:
    """For commands that look into the store, and have no business making one."""

    async def main() -> Result:
        async with open_stores(settings, must_exist=True) as stores:
            return await work(stores)

    return asyncio.run(main())


def with_links(
    settings: Settings, work: Callable[[SharingStores], Awaitable[Result]], *, must_exist: bool = True
) -> Result:
    """For commands about links and keys; only those that make some may make the store."""
    opening = open_sharing_stores(settings, must_exist=must_exist)

    async def main() -> Result:
        async with opening as stores:
            return await work(stores)

    return asyncio.run(main())
