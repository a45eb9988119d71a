"""Places on SQLite."""

import sqlite3
import uuid
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore
from waypost.places.place import Place
from waypost.places.store import Kept, Part

_SQL = load_queries(__package__, "places.sql")
_MOST = 2**63 - 1
_place = msgspec.json.Decoder(Place)


class SqlitePlaceStore(SqliteStore):
    async def get(self, place_id: uuid.UUID) -> Place | None:
        row = await self._database.read(lambda c: c.execute(_SQL["get"], {"id": place_id.bytes}).fetchone())
        return _place.decode(row["place"]) if row else None

    async def get_with_record(self, place_id: uuid.UUID) -> Kept | None:
        row = await self._database.read(lambda c: c.execute(_SQL["record"], {"id": place_id.bytes}).fetchone())
        return Kept(_place.decode(row["place"]), row["record"]) if row else None

    async def count(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["count"]).fetchone()["places"]))

    async def parts(self, wanted: int) -> Sequence[Part]:
        """Cuts by row numbers: what lies together in the file is read together."""
        reach = await self._database.read(lambda c: c.execute(_SQL["reach"]).fetchone())
        if reach["last"] is None:
            return ()
        first, rows = reach["first"], reach["last"] - reach["first"] + 1
        ends = {first - 1 + rows * at // wanted for at in range(1, wanted)} - {first - 1}
        # The last part has no end: a place that arrives while others are read may be in it.
        return [Part(str(after), str(last)) for after, last in pairwise([first - 1, *sorted(ends), _MOST])]

    async def scan(self, batch: int = 1000, part: Part | None = None) -> AsyncIterator[Sequence[Place]]:
        async for rows in self._batches("after", batch) if part is None else self._part(part, batch):
            yield [_place.decode(row["place"]) for row in rows]

    async def scan_with_records(self, batch: int = 1000) -> AsyncIterator[Sequence[Kept]]:
        async for rows in self._batches("records_after", batch):
            yield [Kept(_place.decode(row["place"]), row["record"]) for row in rows]

    async def _batches(self, statement: str, limit: int) -> AsyncIterator[list[sqlite3.Row]]:
        after = ""
        while rows := await self._rows(_SQL[statement], {"external_id": after, "limit": limit}):
            after = rows[-1]["external_id"]
            yield rows

    async def _part(self, part: Part, limit: int) -> AsyncIterator[list[sqlite3.Row]]:
        after, last = int(part.after), int(part.last)
        while rows := await self._rows(_SQL["part"], {"after": after, "last": last, "limit": limit}):
            after = rows[-1]["number"]
            yield rows
