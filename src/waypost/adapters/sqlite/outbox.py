"""The outbox on SQLite; what goes in is written by the stores whose changes it tells of."""

from collections.abc import Collection, Sequence

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteDatabase, from_us
from waypost.scaling.events.event import Event

_SQL = load_queries(__package__, "outbox.sql")


class SqliteOutbox:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def waiting(self, limit: int) -> Sequence[Event]:
        rows = await self._database.read(lambda c: c.execute(_SQL["waiting"], {"limit": limit}).fetchall())
        return [
            Event(
                row["id"], row["name"], row["subject"], from_us(row["occurred_at"]), msgspec.Raw(row["data"].encode())
            )
            for row in rows
        ]

    async def count(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["count"]).fetchone()["events"]))

    async def forget(self, ids: Collection[str]) -> int:
        chosen = msgspec.json.encode(list(ids)).decode()
        return await self._database.write(lambda tx: tx.execute(_SQL["forget"], {"ids": chosen}).rowcount)
