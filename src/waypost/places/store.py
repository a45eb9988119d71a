"""Where places are kept."""

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from waypost.places.place import Place


class Kept(msgspec.Struct, frozen=True):
    """A place with its provider's record, as it came."""

    place: Place
    record: bytes


class PlaceStore(Protocol):
    """Those that were removed are not there for anybody."""

    async def get(self, place_id: uuid.UUID) -> Place | None: ...

    async def get_with_record(self, place_id: uuid.UUID) -> Kept | None: ...

    async def count(self) -> int: ...

    def scan(self, batch: int = 1000) -> AsyncIterator[Sequence[Place]]:
        """All places ordered by external id, in batches, as one consistent view need not be: pages commit whole."""
        ...

    def scan_with_records(self, batch: int = 1000) -> AsyncIterator[Sequence[Kept]]:
        """The same, with their records."""
        ...
