"""The keys that open a server, from wherever they are configured to be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from waypost.access.key_ring import KeyRing
from waypost.access.store import KeyStore


@asynccontextmanager
async def open_key_ring(keys: KeyStore) -> AsyncIterator[KeyRing]:
    """What was noted of the use of keys is written before it closes."""
    ring = KeyRing(keys)
    async with ring.uses.written():
        yield ring
