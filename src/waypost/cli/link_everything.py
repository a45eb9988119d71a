"""What `waypost link show --everything` prints."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waypost.bootstrap.stores import SharingStores
    from waypost.settings import Settings


def print_everything(settings: "Settings", phrase: str) -> None:
    from waypost.bootstrap.sharing import link_operations
    from waypost.cli.stores import with_links

    async def write(stores: "SharingStores") -> None:
        links = await link_operations(settings, stores)
        async for lines in links.everything(phrase, stores.reports):
            sys.stdout.buffer.write(lines)

    with_links(settings, write)
