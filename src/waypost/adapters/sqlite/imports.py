"""Imports on SQLite."""

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteDatabase, now_us, to_us
from waypost.importing.imports import Import, ImportStatus

_SQL = load_queries(__package__, "imports.sql")


class SqliteImportStore:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def start(self, started: Import) -> None:
        row = {
            "id": started.id,
            "source": started.source,
            "scope": msgspec.json.encode(started.scope).decode(),
            "status": started.status,
            "started_at": to_us(started.started_at),
        }
        await self._database.write(lambda tx: tx.execute(_SQL["start"], row).rowcount)

    async def finish(self, import_id: str, status: ImportStatus) -> None:
        row = {"id": import_id, "status": status, "now": now_us()}
        await self._database.write(lambda tx: tx.execute(_SQL["finish"], row).rowcount)
