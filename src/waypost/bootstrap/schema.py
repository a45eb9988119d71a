"""The stores that are configured: how they stand, asked without changing anything, and bringing schemas up to date."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.sqlite.migrations import known, migrate, pending
from waypost.bootstrap.databases import extra, open_redis, sqlite_path
from waypost.bootstrap.jobs import open_job_store
from waypost.kernel.clock import monotonic, utc_now
from waypost.settings import REDIS_SCHEMES, Settings, is_mongodb, is_postgres

if TYPE_CHECKING:
    from waypost.adapters.mongodb.database import MongoDatabase


@dataclass(frozen=True)
class SchemaStatus:
    version: int
    pending: tuple[str, ...]


@dataclass(frozen=True)
class ClockDifference:
    """How many seconds the store's clock is ahead of ours; asking took so long that it may be `unsure` more or less."""

    ahead: float
    unsure: float


@dataclass(frozen=True)
class StoreState:
    """A store that answered. A file has no clock of its own; Redis has no schema, and only Redis evicts."""

    schema: int | None = None
    pending: tuple[str, ...] = ()
    # Whether the next process that opens it brings its schema up to date.
    migrates_itself: bool = False
    clock: ClockDifference | None = None
    # What Redis does when its memory is full, wherever its servers differ; None when we may not ask.
    eviction: tuple[str, ...] | None = ()


async def inspect_store(url: str, setting: str) -> StoreState:
    """Raises what is wrong: it is away, refuses us, or is not a store."""
    match url.partition(":")[0]:
        case "postgresql" | "postgres":
            return await _inspect_postgres(url)
        case "mongodb" | "mongodb+srv" if setting != "analytics":
            async with _mongo(url) as database:
                version, missing = await database.schema_status()
                return StoreState(version, missing, clock=await _compare(database.server_time))
        case scheme if scheme in REDIS_SCHEMES and setting in {"jobs", "redis"}:
            async with AsyncExitStack() as stack:
                client = await open_redis(url, stack)
                return StoreState(clock=await _compare(client.server_time), eviction=await client.eviction_policies())
        case _:
            return await _inspect_sqlite(url, setting)


async def schema_status(settings: Settings) -> SchemaStatus:
    """Where the store's schema stands, without changing or creating anything."""
    found = await inspect_store(settings.storage.store_url, "store")
    if not settings.storage.analytics or settings.storage.in_mongodb:
        return SchemaStatus(found.schema or 0, found.pending)
    beside = await inspect_store(settings.storage.analytics, "analytics")
    return SchemaStatus(found.schema or 0, (*found.pending, *(f"{name} (analytics)" for name in beside.pending)))


async def migrate_schema(settings: Settings) -> list[str]:
    """Bring the schema of every store up to date; returns the names of what was applied."""
    applied = await _migrate(settings.storage.store_url, "store")
    if settings.storage.jobs:
        async with open_job_store(settings.storage.jobs, migrating=True):
            pass
    if not settings.storage.analytics:
        return applied
    return [*applied, *(f"{name} (analytics)" for name in await _migrate(settings.storage.analytics, "analytics"))]


async def _migrate(url: str, setting: str) -> list[str]:
    if is_postgres(url):
        with extra("postgres"):
            from waypost.adapters.postgres import migrations as postgres
            from waypost.adapters.postgres.database import run_once
        return [migration.name for migration in await run_once(url, postgres.migrate)]
    if is_mongodb(url) and setting != "analytics":
        async with _mongo(url) as database:
            return await database.migrate()
    with closing(SqliteDatabase(sqlite_path(url, setting))) as database:
        database.make_folder()
        return [migration.name for migration in await database.run(migrate)]


async def _inspect_sqlite(url: str, setting: str) -> StoreState:
    path = sqlite_path(url, setting)
    version, missing = 0, list(known())
    if path.exists():
        with closing(SqliteDatabase(path)) as database:
            version, missing = await database.run(pending)
    return StoreState(version, tuple(step.name for step in missing), migrates_itself=True)


async def _inspect_postgres(url: str) -> StoreState:
    with extra("postgres"):
        from waypost.adapters.postgres import migrations as postgres
        from waypost.adapters.postgres.database import run_once, server_time

    async def look(connection: object) -> StoreState:
        version, missing = await postgres.pending(connection)
        clock = await _compare(lambda: server_time(connection))
        return StoreState(version, tuple(step.name for step in missing), clock=clock)

    return await run_once(url, look)


@asynccontextmanager
async def _mongo(url: str) -> "AsyncIterator[MongoDatabase]":
    """The MongoDB at this address, whatever its schema is."""
    with extra("mongodb"):
        from waypost.adapters.mongodb.database import MongoDatabase
    database = await MongoDatabase.connect(url)
    try:
        yield database
    finally:
        await database.close()


async def _compare(ask: Callable[[], Awaitable[datetime]]) -> ClockDifference:
    """The store read its clock at some moment while we waited: most likely in the middle."""
    asked, started = utc_now(), monotonic()
    there = await ask()
    took = monotonic() - started
    return ClockDifference((there - asked).total_seconds() - took / 2, took / 2)
