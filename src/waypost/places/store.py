"""Where places are kept."""

import uuid
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec

from waypost.places.place import Place

_IDS = 2**128
# No place has this id: ids carry their version.
_BEFORE_ALL = 0


class Kept(msgspec.Struct, frozen=True):
    """A place with its provider's record, as it came."""

    place: Place
    record: bytes


class Part(msgspec.Struct, frozen=True, tag=True):
    """The places after one of a store's own numbers, up to another; only that kind of store knows what they count."""

    after: str
    last: str


class PlaceStore(Protocol):
    """No method returns or counts places that were removed."""

    async def get(self, place_id: uuid.UUID) -> Place | None: ...

    async def get_with_record(self, place_id: uuid.UUID) -> Kept | None: ...

    async def count(self) -> int: ...

    async def parts(self, wanted: int) -> Sequence[Part]:
        """At most `wanted` parts, which share no place and together have all; different processes may read them."""

    def scan(self, batch: int = 1000, part: Part | None = None) -> AsyncIterator[Sequence[Place]]:
        """All places ordered by external id, in batches; need not be one consistent view, as pages commit whole.

        With a part, only its places, in the order that is quickest.
        """

    def scan_with_records(self, batch: int = 1000) -> AsyncIterator[Sequence[Kept]]:
        """All places ordered by external id, in batches, each with its provider's record."""


class FilePart(msgspec.Struct, frozen=True, tag=True):
    """Some records of a file: `count` of them after the first `number`, or those in the bytes from `offset` to `end`.

    Where neither can be found without reading the file, every `step`th record after the first `number`.
    """

    path: str
    number: int = 0
    count: int | None = None
    offset: int = 0
    end: int | None = None
    step: int = 1


def id_parts(wanted: int) -> Sequence[Part]:
    ends = [_BEFORE_ALL, *(_IDS * at // wanted - 1 for at in range(1, wanted + 1))]
    return [Part(str(uuid.UUID(int=after)), str(uuid.UUID(int=last))) for after, last in pairwise(ends)]
