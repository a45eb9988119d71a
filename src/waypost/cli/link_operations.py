"""Opens the store of links for the time of one command."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from waypost.bootstrap.sharing import link_operations, read_blocks, target_rules
from waypost.bootstrap.stores import SharingStores
from waypost.cli.stores import with_links
from waypost.settings import Settings
from waypost.sharing.links.link import Changes, LinkDocument
from waypost.sharing.links.operations import LinkOperations

Result = TypeVar("Result")


def with_operations(settings: Settings, work: Callable[[LinkOperations], Awaitable[Result]]) -> Result:
    """Runs `work` on the links of a store that must exist."""

    async def main(stores: SharingStores) -> Result:
        return await work(await link_operations(settings, stores))

    return with_links(settings, main)


def change_link(settings: Settings, phrase: str, **wanted: Any) -> LinkDocument:
    """`wanted` is what `Changes` takes."""
    changes = Changes(**wanted)

    async def main(stores: SharingStores) -> LinkDocument:
        rules = replace(target_rules(settings), blocked=(await read_blocks(settings, stores)).hosts)
        return await (await link_operations(settings, stores)).edit(rules, phrase, changes)

    return with_links(settings, main)
