"""Opens the store for the time of one command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from waypost.bootstrap.stores import SharingStores, Stores, open_sharing_stores, open_stores
from waypost.settings import Settings

Result = TypeVar("Result")


def with_stores(settings: Settings, work: Callable[[Stores], Awaitable[Result]]) -> Result:
    """Runs `work` with the stores, for commands that should not make a store that is missing."""

    async def main() -> Result:
        async with open_stores(settings, must_exist=True) as stores:
            return await work(stores)

    return asyncio.run(main())


def with_links(
    settings: Settings, work: Callable[[SharingStores], Awaitable[Result]], *, must_exist: bool = True
) -> Result:
    """Runs `work` with the stores of links and keys; only commands that make links or keys may make the store."""
    opening = open_sharing_stores(settings, must_exist=must_exist)

    async def main() -> Result:
        async with opening as stores:
            return await work(stores)

    return asyncio.run(main())
