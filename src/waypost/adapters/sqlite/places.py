"""Places on SQLite."""

import sqlite3
import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.places.place import Place
from waypost.places.store import Kept

_SQL = load_queries(__package__, "places.sql")
_place = msgspec.json.Decoder(Place)


class SqlitePlaceStore:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def get(self, place_id: uuid.UUID) -> Place | None:
        row = await self._database.read(lambda c: c.execute(_SQL["get"], {"id": place_id.bytes}).fetchone())
        return _place.decode(row["place"]) if row else None

    async def get_with_record(self, place_id: uuid.UUID) -> Kept | None:
        row = await self._database.read(lambda c: c.execute(_SQL["record"], {"id": place_id.bytes}).fetchone())
        return Kept(_place.decode(row["place"]), row["record"]) if row else None

    async def count(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["count"]).fetchone()["places"]))

    async def scan(self, batch: int = 1000) -> AsyncIterator[Sequence[Place]]:
        async for rows in self._batches("after", batch):
            yield [_place.decode(row["place"]) for row in rows]

    async def scan_with_records(self, batch: int = 1000) -> AsyncIterator[Sequence[Kept]]:
        async for rows in self._batches("records_after", batch):
            yield [Kept(_place.decode(row["place"]), row["record"]) for row in rows]

    async def _batches(self, statement: str, limit: int) -> AsyncIterator[list[sqlite3.Row]]:
        after = ""
        while rows := await self._database.read(partial(_next, statement=statement, after=after, limit=limit)):
            after = rows[-1]["external_id"]
            yield rows


def _next(connection: sqlite3.Connection, statement: str, after: str, limit: int) -> list[sqlite3.Row]:
    return connection.execute(_SQL[statement], {"external_id": after, "limit": limit}).fetchall()
