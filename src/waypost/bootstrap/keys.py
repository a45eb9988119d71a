"""The keys that open a server, from wherever they are configured to be."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from waypost.access.configured_keys import ConfiguredKeys
from waypost.access.key_ring import KeyRing
from waypost.access.settings import KeysSettings
from waypost.access.store import KeyStore
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.tasks import background


class NoKeys(AskedWrongly):
    """Only keys open this server, and there can be none."""

    def __init__(self) -> None:
        super().__init__(
            "places are closed, MongoDB keeps no keys, and none are configured",
            next_step="name a file of keys with WAYPOST_KEYS_FILE",
            parameter="keys.file",
        )


@asynccontextmanager
async def open_key_ring(settings: KeysSettings, store: KeyStore | None) -> AsyncIterator[KeyRing]:
    """What was noted of the use of keys is written before it closes."""
    configured = ConfiguredKeys(settings)
    if store is None and not configured:
        raise NoKeys
    ring = KeyRing(store, configured)
    async with AsyncExitStack() as stack:
        if settings.file:
            await stack.enter_async_context(background(configured.keep_looking()))
        if ring.uses:
            await stack.enter_async_context(ring.uses.written())
        yield ring
