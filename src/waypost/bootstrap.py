"""From a URL's scheme to the adapter behind it, and nothing else: the only place that names adapters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

from waypost.adapters.sources.ocm.source import OcmSource
from waypost.adapters.sqlite.budget import SqliteBudget
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.sqlite.facts import SqliteFacts
from waypost.adapters.sqlite.imports import SqliteImportStore
from waypost.adapters.sqlite.jobs import SqliteJobStore
from waypost.adapters.sqlite.links import SqliteLinkStore, SqliteVisitStore
from waypost.adapters.sqlite.migrations import known, migrate, pending
from waypost.adapters.sqlite.pages import SqlitePageStore
from waypost.adapters.sqlite.places import SqlitePlaceStore
from waypost.importing.imports import ImportStore
from waypost.importing.pages import PageStore
from waypost.importing.source import Source
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import AskedWrongly, NotFound
from waypost.kernel.suggesting import did_you_mean
from waypost.places.store import PlaceStore
from waypost.scaling.facts import Facts
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.ratelimit.budget import Budget
from waypost.settings import Settings
from waypost.sharing.links.store import LinkStore
from waypost.sharing.visits.visit import VisitStore

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
    links: LinkStore
    visits: VisitStore
    budget: Budget


@dataclass(frozen=True)
class SchemaStatus:
    version: int
    pending: tuple[str, ...]


class NoStore(NotFound):
    """There is nothing yet to look into; most likely the folder's name is misspelt."""

    slug = "no-store"


@asynccontextmanager
async def open_stores(settings: Settings, *, must_exist: bool = False) -> AsyncIterator[Stores]:
    """`must_exist` is for commands that look into a store and have no business making one."""
    path = _sqlite_path(settings)
    if must_exist and not path.exists():
        raise NoStore(
            f"there is no store at {path}", next_step="check --data, or fill it: waypost import run --country DE,FR"
        )
    database = await SqliteDatabase.open(path)
    try:
        yield Stores(
            facts=SqliteFacts(database),
            jobs=SqliteJobStore(database),
            pages=SqlitePageStore(database),
            imports=SqliteImportStore(database),
            places=SqlitePlaceStore(database),
            links=SqliteLinkStore(database),
            visits=SqliteVisitStore(database),
            budget=SqliteBudget(database, {"ocm": settings.budget.ocm}),
        )
    finally:
        database.close()


@asynccontextmanager
async def open_jobs(settings: Settings) -> AsyncIterator[JobStore]:
    """Jobs on a connection of their own, for the thread that renews leases."""
    async with open_stores(settings) as stores:
        yield stores.jobs


@asynccontextmanager
async def open_source(name: str, settings: Settings) -> AsyncIterator[Source]:
    if name not in SOURCES:
        raise UnknownSource(f"there is no source {name[:40]!r}.{did_you_mean(name, SOURCES)}", parameter="source")
    source = OcmSource(settings.ocm, settings.importing)
    try:
        yield source
    finally:
        await source.close()


async def migrate_schema(settings: Settings) -> list[str]:
    """Bring the store's schema up to date; returns the names of what was applied."""
    database = SqliteDatabase(_sqlite_path(settings))
    with closing(database):
        database.make_folder()
        return [migration.name for migration in await database.run(migrate)]


async def schema_status(settings: Settings) -> SchemaStatus:
    """Where the schema stands, without changing or creating anything."""
    path = _sqlite_path(settings)
    if not path.exists():
        return SchemaStatus(0, tuple(migration.name for migration in known()))
    with closing(SqliteDatabase(path)) as database:
        version, missing = await database.run(pending)
        return SchemaStatus(version, tuple(migration.name for migration in missing))


def _sqlite_path(settings: Settings) -> Path:
    url = settings.storage.store_url
    if not url.startswith(_SQLITE) or url == _SQLITE:
        scheme = url.partition(":")[0][:40]
        raise SettingError(
            f"store: there is no adapter for {scheme!r}; this release has sqlite:///path", parameter="store"
        )
    return Path(url.removeprefix(_SQLITE))
