"""The configured store, and all ports on it."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from waypost.access.store import KeyStore
from waypost.adapters.sqlite.blocks import SqliteBlockStore
from waypost.adapters.sqlite.facts import SqliteFacts
from waypost.adapters.sqlite.imports import SqliteImportStore
from waypost.adapters.sqlite.jobs import SqliteJobStore
from waypost.adapters.sqlite.keys import SqliteKeyStore
from waypost.adapters.sqlite.links import SqliteLinkStore
from waypost.adapters.sqlite.outbox import SqliteOutbox
from waypost.adapters.sqlite.pages import SqliteApartPageStore, SqlitePageStore
from waypost.adapters.sqlite.phrase_spaces import SqliteSpaceStore
from waypost.adapters.sqlite.places import SqlitePlaceStore
from waypost.adapters.sqlite.reports import SqliteReportStore
from waypost.adapters.sqlite.visits import SqliteVisitStore
from waypost.bootstrap.databases import extra, open_mongo, open_postgres, open_sqlite
from waypost.bootstrap.jobs import open_jobs_apart
from waypost.importing.imports import ImportStore
from waypost.importing.pages import PageStore
from waypost.kernel.errors import AskedWrongly
from waypost.places.store import PlaceStore
from waypost.scaling.event_outbox import Outbox
from waypost.scaling.fact_store import Facts
from waypost.scaling.jobs.store import JobStore
from waypost.settings import Settings, is_postgres
from waypost.sharing.blocks.store import BlockStore
from waypost.sharing.links.store import LinkStore
from waypost.sharing.phrases.store import SpaceStore
from waypost.sharing.reports.store import ReportStore
from waypost.sharing.visits.store import VisitStore


class LinksElsewhere(AskedWrongly):
    """Links were asked for, but the configured store keeps none."""

    def __init__(self) -> None:
        super().__init__(
            "links are kept in PostgreSQL or SQLite; MongoDB is for importing alone",
            next_step="set WAYPOST_STORE=postgresql://… or sqlite:///… for links",
            parameter="store",
        )


@dataclass(frozen=True)
class Stores:
    """The ports on the store that was configured, whichever it is."""

    facts: Facts
    jobs: JobStore
    pages: PageStore
    imports: ImportStore
    places: PlaceStore
    outbox: Outbox


@dataclass(frozen=True)
class SharingStores(Stores):
    """The ports on a store that keeps links too."""

    links: LinkStore
    spaces: SpaceStore
    keys: KeyStore
    reports: ReportStore
    blocks: BlockStore
    visits: VisitStore


@asynccontextmanager
async def open_stores(settings: Settings, *, must_exist: bool = False) -> AsyncIterator[Stores]:
    """`must_exist` is for commands that should not make a store that is missing.

    On a server, opening never makes one: its schema is there, or it is refused.
    """
    if settings.storage.in_mongodb:
        async with AsyncExitStack() as stack:
            yield await _open_mongo_stores(settings, stack)
    else:
        async with open_sharing_stores(settings, must_exist=must_exist) as stores:
            yield stores


def open_sharing_stores(settings: Settings, *, must_exist: bool = False) -> AbstractAsyncContextManager[SharingStores]:
    """For commands and roles that need links. Raises LinksElsewhere right away, before anything is opened or made."""
    if settings.storage.in_mongodb:
        raise LinksElsewhere
    return _open_sharing_stores(settings, must_exist=must_exist)


@asynccontextmanager
async def _open_sharing_stores(settings: Settings, *, must_exist: bool) -> AsyncIterator[SharingStores]:
    async with AsyncExitStack() as stack:
        if settings.storage.on_server:
            yield await _open_postgres_stores(settings, stack)
        else:
            yield await _open_sqlite_stores(settings, stack, must_exist=must_exist)


async def _open_sqlite_stores(settings: Settings, stack: AsyncExitStack, *, must_exist: bool) -> SharingStores:
    database = await open_sqlite(settings.storage.store_url, "store", stack, must_exist=must_exist)
    if settings.storage.jobs:
        jobs, pages = await open_jobs_apart(settings, stack, partial(SqliteApartPageStore, database))
    else:
        jobs, pages = SqliteJobStore(database), SqlitePageStore(database)
    return SharingStores(
        facts=SqliteFacts(database),
        jobs=jobs,
        pages=pages,
        imports=SqliteImportStore(database),
        places=SqlitePlaceStore(database),
        outbox=SqliteOutbox(database),
        links=SqliteLinkStore(database),
        spaces=SqliteSpaceStore(database),
        keys=SqliteKeyStore(database),
        reports=SqliteReportStore(database),
        blocks=SqliteBlockStore(database),
        visits=await _open_visits(settings, stack, SqliteVisitStore(database)),
    )


async def _open_postgres_stores(settings: Settings, stack: AsyncExitStack) -> SharingStores:
    with extra("postgres"):
        from waypost.adapters.postgres.blocks import PostgresBlockStore
        from waypost.adapters.postgres.facts import PostgresFacts
        from waypost.adapters.postgres.imports import PostgresImportStore
        from waypost.adapters.postgres.jobs import PostgresJobStore
        from waypost.adapters.postgres.keys import PostgresKeyStore
        from waypost.adapters.postgres.links import PostgresLinkStore
        from waypost.adapters.postgres.outbox import PostgresOutbox
        from waypost.adapters.postgres.pages import PostgresApartPageStore, PostgresPageStore
        from waypost.adapters.postgres.phrase_spaces import PostgresSpaceStore
        from waypost.adapters.postgres.places import PostgresPlaceStore
        from waypost.adapters.postgres.reports import PostgresReportStore
        from waypost.adapters.postgres.visits import PostgresVisitStore
    database = await open_postgres(settings.storage.store_url, stack)
    if settings.storage.jobs:
        jobs, pages = await open_jobs_apart(settings, stack, partial(PostgresApartPageStore, database))
    else:
        jobs, pages = PostgresJobStore(database), PostgresPageStore(database)
    return SharingStores(
        facts=PostgresFacts(database),
        jobs=jobs,
        pages=pages,
        imports=PostgresImportStore(database),
        places=PostgresPlaceStore(database),
        outbox=PostgresOutbox(database),
        links=PostgresLinkStore(database),
        spaces=PostgresSpaceStore(database),
        keys=PostgresKeyStore(database),
        reports=PostgresReportStore(database),
        blocks=PostgresBlockStore(database),
        visits=await _open_visits(settings, stack, PostgresVisitStore(database)),
    )


async def _open_mongo_stores(settings: Settings, stack: AsyncExitStack) -> Stores:
    """What importing needs; links and visits are kept elsewhere."""
    with extra("mongodb"):
        from waypost.adapters.mongodb.facts import MongoFacts
        from waypost.adapters.mongodb.imports import MongoImportStore
        from waypost.adapters.mongodb.jobs import MongoJobStore
        from waypost.adapters.mongodb.outbox import MongoOutbox
        from waypost.adapters.mongodb.pages import MongoApartPageStore, MongoPageStore
        from waypost.adapters.mongodb.places import MongoPlaceStore
    database = await open_mongo(settings.storage.store_url, stack)
    jobs: JobStore
    pages: PageStore
    if settings.storage.jobs:
        jobs, pages = await open_jobs_apart(settings, stack, partial(MongoApartPageStore, database))
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
    )


async def _open_visits(settings: Settings, stack: AsyncExitStack, beside: VisitStore) -> VisitStore:
    """Visits beside the links, or in the store that is configured for them."""
    url = settings.storage.analytics
    if not url:
        return beside
    if not is_postgres(url):
        return SqliteVisitStore(await open_sqlite(url, "analytics", stack))
    with extra("postgres"):
        from waypost.adapters.postgres.visits import PostgresVisitStore
    return PostgresVisitStore(await open_postgres(url, stack))
