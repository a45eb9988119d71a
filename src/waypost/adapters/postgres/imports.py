"""Imports on PostgreSQL."""

from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.adapters.pass_outcomes import marks_of
from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries
from waypost.importing.imports import Import, ImportStatus, Rejected, SomeShards
from waypost.importing.source import Scope

SQL = load_queries(__package__, "imports.sql")


class PostgresImportStore(PostgresStore):
    async def start(self, started: Import) -> None:
        scope = msgspec.json.encode(started.scope).decode()
        await self._database.fetch(SQL["start"], started.id, started.source, scope, started.status, started.started_at)

    async def finish(self, import_id: str, status: ImportStatus) -> None:
        await self._database.fetch(SQL["finish"], import_id, status)

    async def get(self, import_id: str) -> Import | None:
        rows = await self._database.fetch(SQL["get"], import_id)
        return _to_import(rows[0]) if rows else None

    async def latest(self, limit: int) -> Sequence[Import]:
        return [_to_import(row) for row in await self._database.fetch(SQL["latest"], limit)]

    async def rejects(self, shards: Sequence[str], limit: int) -> Sequence[Rejected]:
        return [Rejected(**row) for row in await self._database.fetch(SQL["rejects"], shards, limit)]

    async def forget_rejects(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_rejects", older_than, limit)

    async def forget_answers(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_answers", older_than, limit)

    async def forget_removals(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_removals", older_than, limit)

    async def forget_imports(self, *, older_than: float, limit: int) -> int:
        return await self._forget("forget_imports", older_than, limit)

    async def shards_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        return await self._after("shards_after", shard, older_than, limit)

    async def forget_shards(self, shards: Sequence[str], *, older_than: float) -> int:
        return await self._forget("forget_shards", list(shards), older_than)

    async def passes_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        return await self._after("passes_after", shard, older_than, limit)

    async def forget_pass(self, shard: str, *, older_than: float, limit: int) -> int:
        async with self._database.transaction() as tx:
            state = await tx.fetchval(SQL["old_pass"], shard, older_than)
            if state is None:
                return 0
            for name in marks_of(state):
                if marks := await tx.fetchval(SQL["forget_marks"], name, limit):
                    return int(marks)
            candidates = await tx.fetchval(SQL["forget_candidates"], shard, limit)
            return int(candidates or await tx.fetchval(SQL["forget_pass"], shard))

    async def _after(self, statement: str, shard: str, older_than: float, limit: int) -> SomeShards:
        rows = await self._database.fetch(SQL[statement], shard, older_than, limit)
        return SomeShards(
            [row["shard"] for row in rows if row["old"]], rows[-1]["shard"] if rows[limit - 1 :] else None
        )

    async def _forget(self, statement: str, *arguments: object) -> int:
        [row] = await self._database.fetch(SQL[statement], *arguments)
        return int(row["forgotten"])


def _to_import(row: Any) -> Import:
    scope = msgspec.json.decode(row["scope"], type=Scope)
    return Import(row["id"], row["source"], scope, row["status"], row["started_at"], row["finished_at"])
