"""Places on PostgreSQL."""

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries
from waypost.places.place import Place
from waypost.places.store import Kept, Part, id_parts

SQL = load_queries(__package__, "places.sql")

# Counting reads an index from end to end.
_COUNT_SECONDS = 120.0
_place = msgspec.json.Decoder(Place)


class PostgresPlaceStore(PostgresStore):
    async def get(self, place_id: uuid.UUID) -> Place | None:
        rows = await self._database.fetch(SQL["get"], place_id)
        return _place.decode(rows[0]["place"]) if rows else None

    async def get_with_record(self, place_id: uuid.UUID) -> Kept | None:
        rows = await self._database.fetch(SQL["record"], place_id)
        return Kept(_place.decode(rows[0]["place"]), rows[0]["record"]) if rows else None

    async def count(self) -> int:
        [row] = await self._database.fetch(SQL["count"], timeout=_COUNT_SECONDS)
        return int(row["places"])

    async def parts(self, wanted: int) -> Sequence[Part]:
        return id_parts(wanted)

    async def scan(self, batch: int = 1000, part: Part | None = None) -> AsyncIterator[Sequence[Place]]:
        async for rows in self._batches("after", batch) if part is None else self._part(part, batch):
            yield [_place.decode(row["place"]) for row in rows]

    async def scan_with_records(self, batch: int = 1000) -> AsyncIterator[Sequence[Kept]]:
        async for rows in self._batches("records_after", batch):
            yield [Kept(_place.decode(row["place"]), row["record"]) for row in rows]

    async def _batches(self, statement: str, limit: int) -> AsyncIterator[list[Any]]:
        # One statement per batch, and no cursor: a transaction as long as a build would keep vacuum from its work.
        after = ""
        while rows := await self._database.fetch(SQL[statement], after, limit):
            after = rows[-1]["external_id"]
            yield rows

    async def _part(self, part: Part, limit: int) -> AsyncIterator[list[Any]]:
        after, last = uuid.UUID(part.after), uuid.UUID(part.last)
        while rows := await self._database.fetch(SQL["part"], after, last, limit):
            after = rows[-1]["id"]
            yield rows
