"""The outbox on PostgreSQL; what goes in is written by the stores whose changes it tells of."""

from collections.abc import Collection, Sequence
from uuid import UUID

import msgspec

from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries
from waypost.scaling.event_outbox import Event

SQL = load_queries(__package__, "outbox.sql")


class PostgresOutbox(PostgresStore):
    async def waiting(self, limit: int) -> Sequence[Event]:
        rows = await self._database.fetch(SQL["waiting"], limit)
        return [
            Event(str(row["id"]), row["name"], row["subject"], row["occurred_at"], msgspec.Raw(row["data"].encode()))
            for row in rows
        ]

    async def count(self) -> int:
        [row] = await self._database.fetch(SQL["count"])
        return int(row["events"])

    async def forget_older(self, *, older_than: float, limit: int) -> int:
        [row] = await self._database.fetch(SQL["forget_older"], older_than, limit)
        return int(row["events"])

    async def forget(self, ids: Collection[str]) -> int:
        [row] = await self._database.fetch(SQL["forget"], [UUID(each) for each in ids])
        return int(row["events"])
