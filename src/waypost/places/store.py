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


class Part(msgspec.Struct, frozen=True, tag=True):
    """What lies after one number of a store's own and up to another; only that kind of store knows what they count."""

    after: str
    last: str


class PlaceStore(Protocol):
    """Those that were removed are not there for anybody."""

    async def get(self, place_id: uuid.UUID) -> Place | None: ...

    async def get_with_record(self, place_id: uuid.UUID) -> Kept | None: ...

    async def count(self) -> int: ...

    async def parts(self, wanted: int) -> Sequence[Part]:
        """At most so many parts, which together are all places and share none; each may be read by another process."""
        ...

    def scan(self, batch: int = 1000, part: Part | None = None) -> AsyncIterator[Sequence[Place]]:
        """All places ordered by external id, in batches, as one consistent view need not be: pages commit whole.

        With a part, its places alone, in the order that is quickest.
        """
        ...

    def scan_with_records(self, batch: int = 1000) -> AsyncIterator[Sequence[Kept]]:
        """The same, with their records."""
        ...
