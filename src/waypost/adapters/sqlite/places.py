"""Places on SQLite."""

import sqlite3
import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.places.place import Place

_SQL = load_queries(__package__, "places.sql")
_place = msgspec.json.Decoder(Place)


class SqlitePlaceStore:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def get(self, place_id: uuid.UUID) -> Place | None:
        row = await self._database.read(lambda c: c.execute(_SQL["get"], {"id": place_id.bytes}).fetchone())
        return _place.decode(row["place"]) if row else None

    async def count(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["count"]).fetchone()["places"]))

    async def scan(self, batch: int = 1000) -> AsyncIterator[Sequence[Place]]:
        after = ""
        while rows := await self._database.read(partial(_next, after=after, limit=batch)):
            after = rows[-1]["external_id"]
            yield [_place.decode(row["place"]) for row in rows]


def _next(connection: sqlite3.Connection, after: str, limit: int) -> list[sqlite3.Row]:
    return connection.execute(_SQL["after"], {"external_id": after, "limit": limit}).fetchall()
