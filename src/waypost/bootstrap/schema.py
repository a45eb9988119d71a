"""The schema of every store: where it stands, and bringing it up to date."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from waypost.adapters.migrations import Migration
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.sqlite.migrations import known, migrate, pending
from waypost.bootstrap.databases import extra, sqlite_path
from waypost.bootstrap.jobs import open_job_store
from waypost.settings import Settings, is_postgres

if TYPE_CHECKING:
    from waypost.adapters.mongodb.database import MongoDatabase


@dataclass(frozen=True)
class SchemaStatus:
    version: int
    pending: tuple[str, ...]


async def migrate_schema(settings: Settings) -> list[str]:
    """Bring the schema of every store up to date; returns the names of what was applied."""
    url = settings.storage.store_url
    if settings.storage.in_mongodb:
        applied = await _migrate_mongo(url)
    elif settings.storage.on_server:
        applied = await _migrate_postgres(url)
    else:
        applied = await _migrate_sqlite(url)
    if settings.storage.jobs:
        async with open_job_store(settings.storage.jobs, migrating=True):
            pass
    return [*applied, *await _migrate_analytics(settings.storage.analytics)]


async def _migrate_analytics(url: str) -> list[str]:
    if not url:
        return []
    applied = await (_migrate_postgres(url) if is_postgres(url) else _migrate_sqlite(url, "analytics"))
    return [f"{name} (analytics)" for name in applied]


async def _migrate_sqlite(url: str, setting: str = "store") -> list[str]:
    with closing(SqliteDatabase(sqlite_path(url, setting))) as database:
        database.make_folder()
        return [migration.name for migration in await database.run(migrate)]


async def _migrate_postgres(url: str) -> list[str]:
    with extra("postgres"):
        from waypost.adapters.postgres.database import run_once
        from waypost.adapters.postgres.migrations import migrate
    return [migration.name for migration in await run_once(url, migrate)]


async def _migrate_mongo(url: str) -> list[str]:
    async with mongo(url) as database:
        return await database.migrate()


async def schema_status(settings: Settings) -> SchemaStatus:
    """Where the store's schema stands, without changing or creating anything."""
    url = settings.storage.store_url
    if settings.storage.in_mongodb:
        async with mongo(url) as database:
            return SchemaStatus(*await database.schema_status())
    version, missing = await (_look_into_postgres(url) if settings.storage.on_server else look_into_sqlite(url))
    names = [migration.name for migration in missing]
    return SchemaStatus(version, (*names, *await _missing_in_analytics(settings.storage.analytics)))


async def _missing_in_analytics(url: str) -> list[str]:
    if not url:
        return []
    _, missing = await (_look_into_postgres(url) if is_postgres(url) else look_into_sqlite(url, "analytics"))
    return [f"{migration.name} (analytics)" for migration in missing]


async def look_into_sqlite(url: str, setting: str = "store") -> tuple[int, Sequence[Migration]]:
    path = sqlite_path(url, setting)
    if not path.exists():
        return 0, known()
    with closing(SqliteDatabase(path)) as database:
        return await database.run(pending)


async def _look_into_postgres(url: str) -> tuple[int, Sequence[Migration]]:
    with extra("postgres"):
        from waypost.adapters.postgres.database import run_once
        from waypost.adapters.postgres.migrations import pending
    return await run_once(url, pending)


@asynccontextmanager
async def mongo(url: str) -> "AsyncIterator[MongoDatabase]":
    """The MongoDB at this address, whatever its schema is."""
    with extra("mongodb"):
        from waypost.adapters.mongodb.database import MongoDatabase
    database = await MongoDatabase.connect(url)
    try:
        yield database
    finally:
        await database.close()
