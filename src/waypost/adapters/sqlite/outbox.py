"""The outbox on SQLite; what goes in is written by the stores whose changes it tells of."""

from collections.abc import Collection, Sequence

import msgspec

from waypost.adapters.link_rows import to_event
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore, now_us, seconds
from waypost.kernel.clock import from_us
from waypost.scaling.event_outbox import Event

SQL = load_queries(__package__, "outbox.sql")


class SqliteOutbox(SqliteStore):
    async def waiting(self, limit: int) -> Sequence[Event]:
        rows = await self._rows(SQL["waiting"], {"limit": limit})
        return [to_event(row, from_us(row["occurred_at"])) for row in rows]

    async def count(self) -> int:
        return await self._database.read(lambda c: int(c.execute(SQL["count"]).fetchone()["events"]))

    async def forget_older(self, *, older_than: float, limit: int) -> int:
        asked = {"before": now_us() - seconds(older_than), "limit": limit}
        return await self._change(SQL["forget_older"], asked)

    async def forget(self, ids: Collection[str]) -> int:
        chosen = msgspec.json.encode(list(ids)).decode()
        return await self._change(SQL["forget"], {"ids": chosen})
