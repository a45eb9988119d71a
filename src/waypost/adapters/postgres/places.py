"""Places on PostgreSQL."""

import uuid
from collections.abc import AsyncIterator, Sequence

import msgspec

from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.places.place import Place

SQL = load_queries(__package__, "places.sql")

# Counting reads an index from end to end.
_COUNT_SECONDS = 120.0
_place = msgspec.json.Decoder(Place)


class PostgresPlaceStore:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def get(self, place_id: uuid.UUID) -> Place | None:
        rows = await self._database.fetch(SQL["get"], place_id)
        return _place.decode(rows[0]["place"]) if rows else None

    async def count(self) -> int:
        [row] = await self._database.fetch(SQL["count"], timeout=_COUNT_SECONDS)
        return int(row["places"])

    async def scan(self, batch: int = 1000) -> AsyncIterator[Sequence[Place]]:
        # A statement a batch, and no cursor: a transaction as long as a build would keep vacuum from its work.
        after = ""
        while rows := await self._database.fetch(SQL["after"], after, batch):
            after = rows[-1]["external_id"]
            yield [_place.decode(row["place"]) for row in rows]
