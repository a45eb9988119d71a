"""From a URL's scheme to the adapter behind it, and nothing else: the only place that names adapters."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from waypost.access.store import KeyStore
from waypost.adapters.migrations import Migration
from waypost.adapters.mongodb.links import LinksElsewhere, NoLinks
from waypost.adapters.sources.files.places import cut_file, read_part
from waypost.adapters.sources.kinds import Kind, kinds, make_source
from waypost.adapters.sources.ocm.source import OcmSource
from waypost.adapters.sqlite.budget import SqliteBudgetRecords
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.sqlite.facts import SqliteFacts
from waypost.adapters.sqlite.imports import SqliteImportStore
from waypost.adapters.sqlite.jobs import SqliteJobStore
from waypost.adapters.sqlite.keys import SqliteKeyStore
from waypost.adapters.sqlite.links import SqliteLinkStore
from waypost.adapters.sqlite.migrations import known, migrate, pending
from waypost.adapters.sqlite.outbox import SqliteOutbox
from waypost.adapters.sqlite.pages import SqliteApartPageStore, SqlitePageStore
from waypost.adapters.sqlite.phrase_spaces import SqliteSpaceStore
from waypost.adapters.sqlite.places import SqlitePlaceStore
from waypost.adapters.sqlite.visits import SqliteVisitStore
from waypost.importing.definitions import Definition, SourceContext
from waypost.importing.imports import ImportStore
from waypost.importing.pages import PageStore
from waypost.importing.source import Source
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import AskedWrongly, NotFound
from waypost.kernel.suggesting import did_you_mean
from waypost.places.file_part import FilePart
from waypost.places.place import Place
from waypost.places.store import PlaceStore
from waypost.scaling.events.outbox import Outbox
from waypost.scaling.facts import Facts
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.ratelimit.budget import Budget, BudgetStore
from waypost.scaling.ratelimit.records import RecordBudgetStore
from waypost.scaling.ratelimit.shared import SharedBudget
from waypost.settings import Settings, StorageSettings, is_mongodb, is_postgres, is_source_file
from waypost.sharing.links.store import LinkStore
from waypost.sharing.phrases.store import SpaceStore
from waypost.sharing.visits.store import VisitStore
from waypost.sharing.visits.visitors import Countries
from waypost.telemetry.logs import get_logger

if TYPE_CHECKING:
    from waypost.adapters.mongodb.database import MongoDatabase
    from waypost.serving.exporting import Export
    from waypost.serving.pulling.origin import Origin

log = get_logger("budget")

SOURCES = ("ocm",)
_SQLITE = "sqlite:///"


class UnknownSource(AskedWrongly):
    """There is no source of that name."""

    slug = "unknown-source"


@dataclass(frozen=True)
class Stores:
    """Every port on the store that was configured."""

    facts: Facts
    jobs: JobStore
    pages: PageStore
    imports: ImportStore
    places: PlaceStore
    outbox: Outbox
    links: LinkStore
    spaces: SpaceStore
    keys: KeyStore
    visits: VisitStore


@dataclass(frozen=True)
class SchemaStatus:
    version: int
    pending: tuple[str, ...]


class NoStore(NotFound):
    """There is nothing yet to look into; most likely the folder's name is misspelt."""

    slug = "no-store"


class _ApartPageStore(PageStore, Protocol):
    """A page store whose jobs are kept in another store."""

    async def highest_fence(self) -> int: ...


@asynccontextmanager
async def open_stores(settings: Settings, *, must_exist: bool = False) -> AsyncIterator[Stores]:
    """`must_exist` is for commands that look into a store and have no business making one.

    On a server nobody makes one by the way: its schema is there, or it is refused.
    """
    async with AsyncExitStack() as stack:
        if settings.storage.in_mongodb:
            yield await _open_mongo_stores(settings, stack)
        elif settings.storage.on_server:
            yield await _open_postgres_stores(settings, stack)
        else:
            yield await _open_sqlite_stores(settings, stack, must_exist=must_exist)


async def _open_sqlite_stores(settings: Settings, stack: AsyncExitStack, *, must_exist: bool) -> Stores:
    path = _sqlite_path(settings.storage.store_url, "store")
    if must_exist:
        _refuse_missing(path)
    database = await SqliteDatabase.open(path)
    stack.callback(database.close)
    if settings.storage.jobs:
        jobs, pages = await _open_jobs_apart(settings, stack, partial(SqliteApartPageStore, database))
    else:
        jobs, pages = SqliteJobStore(database), SqlitePageStore(database)
    return Stores(
        facts=SqliteFacts(database),
        jobs=jobs,
        pages=pages,
        imports=SqliteImportStore(database),
        places=SqlitePlaceStore(database),
        outbox=SqliteOutbox(database),
        links=SqliteLinkStore(database),
        spaces=SqliteSpaceStore(database),
        keys=SqliteKeyStore(database),
        visits=await _open_visits(settings, stack, SqliteVisitStore(database)),
    )


async def _open_postgres_stores(settings: Settings, stack: AsyncExitStack) -> Stores:
    with _extra("postgres"):
        from waypost.adapters.postgres.database import PostgresDatabase
        from waypost.adapters.postgres.facts import PostgresFacts
        from waypost.adapters.postgres.imports import PostgresImportStore
        from waypost.adapters.postgres.jobs import PostgresJobStore
        from waypost.adapters.postgres.keys import PostgresKeyStore
        from waypost.adapters.postgres.links import PostgresLinkStore
        from waypost.adapters.postgres.outbox import PostgresOutbox
        from waypost.adapters.postgres.pages import PostgresApartPageStore, PostgresPageStore
        from waypost.adapters.postgres.phrase_spaces import PostgresSpaceStore
        from waypost.adapters.postgres.places import PostgresPlaceStore
        from waypost.adapters.postgres.visits import PostgresVisitStore
    database = await PostgresDatabase.open(settings.storage.store_url, migrating=False)
    stack.push_async_callback(database.close)
    if settings.storage.jobs:
        jobs, pages = await _open_jobs_apart(settings, stack, partial(PostgresApartPageStore, database))
    else:
        jobs, pages = PostgresJobStore(database), PostgresPageStore(database)
    return Stores(
        facts=PostgresFacts(database),
        jobs=jobs,
        pages=pages,
        imports=PostgresImportStore(database),
        places=PostgresPlaceStore(database),
        outbox=PostgresOutbox(database),
        links=PostgresLinkStore(database),
        spaces=PostgresSpaceStore(database),
        keys=PostgresKeyStore(database),
        visits=await _open_visits(settings, stack, PostgresVisitStore(database)),
    )


async def _open_mongo_stores(settings: Settings, stack: AsyncExitStack) -> Stores:
    """What importing needs; links and visits are kept elsewhere."""
    with _extra("mongodb"):
        from waypost.adapters.mongodb.database import MongoDatabase
        from waypost.adapters.mongodb.facts import MongoFacts
        from waypost.adapters.mongodb.imports import MongoImportStore
        from waypost.adapters.mongodb.jobs import MongoJobStore
        from waypost.adapters.mongodb.outbox import MongoOutbox
        from waypost.adapters.mongodb.pages import MongoApartPageStore, MongoPageStore
        from waypost.adapters.mongodb.places import MongoPlaceStore
    database = await MongoDatabase.open(settings.storage.store_url, migrating=False)
    stack.push_async_callback(database.close)
    jobs: JobStore
    pages: PageStore
    if settings.storage.jobs:
        jobs, pages = await _open_jobs_apart(settings, stack, partial(MongoApartPageStore, database))
    else:
        jobs = beside = MongoJobStore(database)
        pages = MongoPageStore(database, beside)
    return Stores(
        facts=MongoFacts(database),
        jobs=jobs,
        pages=pages,
        imports=MongoImportStore(database),
        places=MongoPlaceStore(database),
        outbox=MongoOutbox(database),
        links=cast("LinkStore", NoLinks()),
        spaces=cast("SpaceStore", NoLinks()),
        keys=cast("KeyStore", NoLinks()),
        visits=cast("VisitStore", NoLinks()),
    )


async def _open_visits(settings: Settings, stack: AsyncExitStack, beside: VisitStore) -> VisitStore:
    """Visits beside the links, or in the store that is configured for them."""
    url = settings.storage.analytics
    if not url:
        return beside
    if not is_postgres(url):
        sqlite = await SqliteDatabase.open(_sqlite_path(url, "analytics"))
        stack.callback(sqlite.close)
        return SqliteVisitStore(sqlite)
    with _extra("postgres"):
        from waypost.adapters.postgres.database import PostgresDatabase
        from waypost.adapters.postgres.visits import PostgresVisitStore
    postgres = await PostgresDatabase.open(url, migrating=False)
    stack.push_async_callback(postgres.close)
    return PostgresVisitStore(postgres)


def open_countries(path: str) -> Countries | None:
    """Who knows in which country an address is, where a file for that is configured."""
    if not path:
        return None
    with _extra("countries"):
        from waypost.adapters.maxmind.countries import MaxMindCountries
    return MaxMindCountries(Path(path))


def refuse_without_links(settings: Settings) -> None:
    """For roles that serve links: told at their start, and not by the first visitor."""
    if settings.storage.in_mongodb:
        raise LinksElsewhere


async def _open_jobs_apart(
    settings: Settings, stack: AsyncExitStack, make_pages: Callable[[JobStore], _ApartPageStore]
) -> tuple[JobStore, PageStore]:
    jobs = await stack.enter_async_context(open_job_store(settings.storage.jobs))
    pages = make_pages(jobs)
    # A job store that was flushed or restored must not give fences that the places have seen already.
    await jobs.raise_fences(await pages.highest_fence())
    return jobs, pages


@asynccontextmanager
async def open_jobs(settings: Settings) -> AsyncIterator[JobStore]:
    """Jobs on a connection of their own, for the thread that renews leases."""
    async with open_job_store(settings.storage.jobs or settings.storage.store_url) as jobs:
        yield jobs


@asynccontextmanager
async def open_job_store(url: str, *, migrating: bool = False) -> AsyncIterator[JobStore]:
    """The job store at this address. On a server, its schema is changed only when `migrating`."""
    async with AsyncExitStack() as stack:
        match url.partition(":")[0]:
            case "sqlite":
                sqlite = await SqliteDatabase.open(_sqlite_path(url, "jobs"))
                stack.callback(sqlite.close)
                yield SqliteJobStore(sqlite)
            case "postgresql" | "postgres":
                with _extra("postgres"):
                    from waypost.adapters.postgres.database import PostgresDatabase
                    from waypost.adapters.postgres.jobs import PostgresJobStore
                postgres = await PostgresDatabase.open(url, migrating=migrating)
                stack.push_async_callback(postgres.close)
                yield PostgresJobStore(postgres)
            case "mongodb" | "mongodb+srv":
                with _extra("mongodb"):
                    from waypost.adapters.mongodb.database import MongoDatabase
                    from waypost.adapters.mongodb.jobs import MongoJobStore
                mongo = await MongoDatabase.open(url, migrating=migrating)
                stack.push_async_callback(mongo.close)
                yield MongoJobStore(mongo)
            case "redis" | "rediss":
                with _extra("redis"):
                    from waypost.adapters.redis.client import RedisClient
                    from waypost.adapters.redis.jobs import RedisJobStore
                redis = await RedisClient.open(url)
                stack.push_async_callback(redis.close)
                yield RedisJobStore(redis)
            case scheme:
                raise SettingError(
                    f"jobs: there is no adapter for {scheme[:40]!r}; there is postgresql, mongodb, redis and sqlite",
                    parameter="jobs",
                )


@asynccontextmanager
async def open_budget(settings: Settings, *, must_exist: bool = False) -> AsyncIterator[Budget]:
    """Where all who share it can reach it: in Redis, else beside the jobs, else in the store."""
    async with (
        _open_budget_store(_budget_url(settings.storage), must_exist=must_exist) as store,
        SharedBudget(store, settings.budget.rules, when_away=settings.budget.when_away) as budget,
    ):
        yield budget


def _budget_url(storage: StorageSettings) -> str:
    # There are no budgets in MongoDB.
    own_file = f"{_SQLITE}{storage.folder / 'budgets.db'}"
    choices = (storage.redis, storage.jobs, storage.store_url, own_file)
    url = next(url for url in choices if url and not is_mongodb(url))
    if url.startswith(_SQLITE) and is_mongodb(storage.jobs or storage.store_url):
        log.warning("the budget is this machine's alone", next_step="set WAYPOST_REDIS to share it")
    return url


@asynccontextmanager
async def _open_budget_store(url: str, *, must_exist: bool) -> AsyncIterator[BudgetStore]:
    async with AsyncExitStack() as stack:
        match url.partition(":")[0]:
            case "redis" | "rediss":
                with _extra("redis"):
                    from waypost.adapters.redis.budget import RedisBudgetStore
                    from waypost.adapters.redis.client import RedisClient
                redis = await RedisClient.open(url)
                stack.push_async_callback(redis.close)
                yield RedisBudgetStore(redis)
            case "postgresql" | "postgres":
                with _extra("postgres"):
                    from waypost.adapters.postgres.budget import PostgresBudgetRecords
                    from waypost.adapters.postgres.database import PostgresDatabase
                postgres = await PostgresDatabase.open(url, migrating=False)
                stack.push_async_callback(postgres.close)
                yield RecordBudgetStore(PostgresBudgetRecords(postgres))
            case _:
                path = _sqlite_path(url, "store")
                if must_exist:
                    _refuse_missing(path)
                sqlite = await SqliteDatabase.open(path)
                stack.callback(sqlite.close)
                yield RecordBudgetStore(SqliteBudgetRecords(sqlite))


@contextmanager
def _extra(name: str) -> Iterator[None]:
    """What the embedded default does not need is installed only where it is wanted."""
    try:
        yield
    except ImportError as error:
        raise SettingError(
            f"a package that this setting needs is not installed ({error.name})",
            next_step=f"pip install 'waypost[{name}]'",
        ) from error


@asynccontextmanager
async def open_source(name: str, settings: Settings) -> AsyncIterator[Source]:
    """The source of this name, or that a configured file describes."""
    source = _make_source(name, settings)
    try:
        yield source
    finally:
        await source.close()


def _make_source(name: str, settings: Settings) -> Source:
    if name in SOURCES:
        return OcmSource(settings.ocm, settings.importing)
    definition = find_definition(name, settings)
    context = SourceContext(
        definition.name, definition.licence, settings.importing, definition.path.absolute().parent, os.environ
    )
    return make_source(definition, context)


def source_kinds() -> list[Kind]:
    """What a file of a source may be of, with the packages that bring it."""
    return kinds()


def find_definition(name: str, settings: Settings) -> Definition:
    for definition in settings.sources.values():
        if name == definition.name or (is_source_file(name) and Path(name).resolve() == definition.path.resolve()):
            return definition
    known = (*SOURCES, *settings.sources)
    raise UnknownSource(
        f"there is no source {name[:40]!r}; there is {', '.join(known)}.{did_you_mean(name, known)}",
        parameter="source",
        next_step="waypost source list; files of sources are named by WAYPOST_SOURCES",
    )


@asynccontextmanager
async def open_origin(url: str) -> "AsyncIterator[Origin]":
    """Snapshots elsewhere."""
    from waypost.adapters.http.origin import HttpOrigin

    async with HttpOrigin(url) as origin:
        yield origin


def export_as(form: str) -> "Export":
    """How a generation is written in this form."""
    from waypost.adapters.exports.geoparquet import write_geoparquet
    from waypost.serving.exporting import write_geojson, write_ndjson

    return {"geojson": write_geojson, "ndjson": write_ndjson, "geoparquet": write_geoparquet}[form]


def open_export(target: str) -> AbstractContextManager[BinaryIO]:
    """A file to export to, packed as its name says; `-` is the standard output."""
    from waypost.adapters.exports.streams import open_output

    return open_output(target)


def file_parts(path: Path, wanted: int) -> list[FilePart]:
    """At most so many parts of a file of places, each for a process of its own."""
    return cut_file(path, wanted)


def read_file_part(part: FilePart, settings: Settings) -> Iterator[list[Place]]:
    """The places of a part of a file, in batches."""
    return read_part(part, settings.importing.max_answer)


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
    with closing(SqliteDatabase(_sqlite_path(url, setting))) as database:
        database.make_folder()
        return [migration.name for migration in await database.run(migrate)]


async def _migrate_postgres(url: str) -> list[str]:
    with _extra("postgres"):
        from waypost.adapters.postgres.database import run_once
        from waypost.adapters.postgres.migrations import migrate
    return [migration.name for migration in await run_once(url, migrate)]


async def _migrate_mongo(url: str) -> list[str]:
    async with _mongo(url) as database:
        return await database.migrate()


async def schema_status(settings: Settings) -> SchemaStatus:
    """Where the store's schema stands, without changing or creating anything."""
    url = settings.storage.store_url
    if settings.storage.in_mongodb:
        async with _mongo(url) as database:
            return SchemaStatus(*await database.schema_status())
    version, missing = await (_look_into_postgres(url) if settings.storage.on_server else _look_into_sqlite(url))
    names = [migration.name for migration in missing]
    return SchemaStatus(version, (*names, *await _missing_in_analytics(settings.storage.analytics)))


async def _missing_in_analytics(url: str) -> list[str]:
    if not url:
        return []
    _, missing = await (_look_into_postgres(url) if is_postgres(url) else _look_into_sqlite(url, "analytics"))
    return [f"{migration.name} (analytics)" for migration in missing]


async def _look_into_sqlite(url: str, setting: str = "store") -> tuple[int, Sequence[Migration]]:
    path = _sqlite_path(url, setting)
    if not path.exists():
        return 0, known()
    with closing(SqliteDatabase(path)) as database:
        return await database.run(pending)


async def _look_into_postgres(url: str) -> tuple[int, Sequence[Migration]]:
    with _extra("postgres"):
        from waypost.adapters.postgres.database import run_once
        from waypost.adapters.postgres.migrations import pending
    return await run_once(url, pending)


@asynccontextmanager
async def _mongo(url: str) -> "AsyncIterator[MongoDatabase]":
    """Whatever its schema is."""
    with _extra("mongodb"):
        from waypost.adapters.mongodb.database import MongoDatabase
    database = await MongoDatabase.connect(url)
    try:
        yield database
    finally:
        await database.close()


def _refuse_missing(path: Path) -> None:
    if not path.exists():
        raise NoStore(
            f"there is no store at {path}", next_step="check --data, or fill it: waypost import run --country DE,FR"
        )


def _sqlite_path(url: str, name: str) -> Path:
    if not url.startswith(_SQLITE) or url == _SQLITE:
        scheme = url.partition(":")[0][:40]
        servers = "postgresql://…" if name == "analytics" else "postgresql://…, mongodb://…"
        raise SettingError(
            f"{name}: there is no adapter for {scheme!r}; there is {servers} and sqlite:///path",
            parameter=name,
        )
    return Path(url.removeprefix(_SQLITE))
