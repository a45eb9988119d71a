"""Imports on PostgreSQL."""

from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.importing.imports import Import, ImportStatus, Rejected
from waypost.importing.source import Scope

_SQL = load_queries(__package__, "imports.sql")
_BULK_SECONDS = 120.0


class PostgresImportStore:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def start(self, started: Import) -> None:
        scope = msgspec.json.encode(started.scope).decode()
        await self._database.fetch(_SQL["start"], started.id, started.source, scope, started.status, started.started_at)

    async def finish(self, import_id: str, status: ImportStatus) -> None:
        await self._database.fetch(_SQL["finish"], import_id, status)

    async def get(self, import_id: str) -> Import | None:
        rows = await self._database.fetch(_SQL["get"], import_id)
        return _to_import(rows[0]) if rows else None

    async def latest(self, limit: int) -> Sequence[Import]:
        return [_to_import(row) for row in await self._database.fetch(_SQL["latest"], limit)]

    async def rejects(self, shards: Sequence[str], limit: int) -> Sequence[Rejected]:
        return [Rejected(**row) for row in await self._database.fetch(_SQL["rejects"], shards, limit)]

    async def forget_rejects(self, *, older_than: float) -> None:
        await self._database.fetch(_SQL["forget_rejects"], older_than, timeout=_BULK_SECONDS)


def _to_import(row: Any) -> Import:
    scope = msgspec.json.decode(row["scope"], type=Scope)
    return Import(row["id"], row["source"], scope, row["status"], row["started_at"], row["finished_at"])
