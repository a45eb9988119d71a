"""Imports on SQLite."""

import sqlite3
from collections.abc import Sequence

import msgspec

from waypost.adapters.pass_outcomes import marks_of
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore, from_us_or_none, now_us, seconds
from waypost.importing.imports import Import, ImportStatus, Rejected, SomeShards
from waypost.importing.source import Scope
from waypost.kernel.clock import from_us, to_us

SQL = load_queries(__package__, "imports.sql")


class SqliteImportStore(SqliteStore):
    async def start(self, started: Import) -> None:
        row = {
            "id": started.id,
            "source": started.source,
            "scope": msgspec.json.encode(started.scope).decode(),
            "status": started.status,
            "started_at": to_us(started.started_at),
        }
        await self._change(SQL["start"], row)

    async def finish(self, import_id: str, status: ImportStatus) -> None:
        row = {"id": import_id, "status": status, "now": now_us()}
        await self._change(SQL["finish"], row)

    async def get(self, import_id: str) -> Import | None:
        rows = await self._rows(SQL["get"], {"id": import_id})
        return _to_import(rows[0]) if rows else None

    async def latest(self, limit: int) -> Sequence[Import]:
        rows = await self._rows(SQL["latest"], {"limit": limit})
        return [_to_import(row) for row in rows]

    async def rejects(self, shards: Sequence[str], limit: int) -> Sequence[Rejected]:
        wanted = {"shards": msgspec.json.encode(shards).decode(), "limit": limit}
        rows = await self._rows(SQL["rejects"], wanted)
        return [Rejected(**row) for row in rows]

    async def forget_rejects(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_rejects", older_than, limit=limit)

    async def forget_answers(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_answers", older_than, limit=limit)

    async def forget_removals(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_removals", older_than, limit=limit)

    async def forget_imports(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_imports", older_than, limit=limit)

    async def shards_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        return await self._after("shards_after", shard, older_than, limit)

    async def forget_shards(self, shards: Sequence[str], *, older_than: float) -> int:
        return await self._forget("forget_shards", older_than, shards=msgspec.json.encode(shards).decode())

    async def passes_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        return await self._after("passes_after", shard, older_than, limit)

    async def forget_pass(self, shard: str, *, older_than: float, limit: int) -> int:
        asked = {"shard": shard, "before": now_us() - seconds(older_than), "limit": limit}

        def work(tx: sqlite3.Connection) -> int:
            row = tx.execute(SQL["old_pass"], asked).fetchone()
            if row is None:
                return 0
            for name in marks_of(row["state"]):
                if marks := tx.execute(SQL["forget_marks"], {"pass": name, "limit": limit}).rowcount:
                    return marks
            candidates = tx.execute(SQL["forget_candidates"], asked).rowcount
            return candidates or tx.execute(SQL["forget_pass"], asked).rowcount

        return await self._database.write(work)

    async def _after(self, statement: str, shard: str, older_than: float, limit: int) -> SomeShards:
        asked = {"after": shard, "before": now_us() - seconds(older_than), "limit": limit}
        rows = await self._rows(SQL[statement], asked)
        return SomeShards(
            [row["shard"] for row in rows if row["old"]], rows[-1]["shard"] if rows[limit - 1 :] else None
        )

    async def _forget(self, statement: str, older_than: float, **chosen: object) -> int:
        asked = {"before": now_us() - seconds(older_than), **chosen}
        return await self._change(SQL[statement], asked)


def _to_import(row: sqlite3.Row) -> Import:
    return Import(
        row["id"],
        row["source"],
        msgspec.json.decode(row["scope"], type=Scope),
        row["status"],
        from_us(row["started_at"]),
        from_us_or_none(row["finished_at"]),
    )
