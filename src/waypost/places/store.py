"""Where places are kept."""

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from waypost.places.place import Place


class PlaceStore(Protocol):
    async def get(self, place_id: uuid.UUID) -> Place | None: ...

    async def count(self) -> int: ...

    def scan(self, batch: int = 1000) -> AsyncIterator[Sequence[Place]]:
        """All places ordered by external id, in batches, as one consistent view need not be: pages commit whole."""
        ...
