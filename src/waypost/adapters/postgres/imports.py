"""Imports on PostgreSQL."""

import msgspec

from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.importing.imports import Import, ImportStatus

_SQL = load_queries(__package__, "imports.sql")


class PostgresImportStore:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def start(self, started: Import) -> None:
        scope = msgspec.json.encode(started.scope).decode()
        await self._database.fetch(_SQL["start"], started.id, started.source, scope, started.status, started.started_at)

    async def finish(self, import_id: str, status: ImportStatus) -> None:
        await self._database.fetch(_SQL["finish"], import_id, status)
