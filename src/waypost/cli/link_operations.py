"""Opens the store of links for the time of one command."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from waypost.bootstrap.sharing import link_operations
from waypost.bootstrap.stores import SharingStores
from waypost.cli.stores import with_links
from waypost.settings import Settings
from waypost.sharing.links.operations import LinkOperations

Result = TypeVar("Result")


def with_operations(settings: Settings, work: Callable[[LinkOperations], Awaitable[Result]]) -> Result:
    """For commands about links that are there."""

    async def main(stores: SharingStores) -> Result:
        return await work(await link_operations(settings, stores))

    return with_links(settings, main)
