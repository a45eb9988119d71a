"""The stores that contract suites run on, one entry a backend."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from support.job_store_mongodb import age_mongodb, migrated_database
from support.job_store_postgres import age_postgres, clean_database
from support.job_stores import age_sqlite
from waypost.bootstrap.stores import SharingStores, Stores, open_sharing_stores, open_stores
from waypost.settings import Settings, load_settings

# MongoDB is for importing alone.
LINK_BACKENDS = ("sqlite", "postgres")
BACKENDS = (*LINK_BACKENDS, "mongodb")


@dataclass(frozen=True)
class Backend:
    """A clean store, and what only a test may do to it."""

    stores: Stores
    settings: Settings
    # Back-dates every lease and due time, as if so many seconds had passed. Nobody injects a clock into a store.
    age: Callable[[float], Awaitable[None]]
    # A second connection to the same store, as another process has it.
    open_again: Callable[[], AbstractAsyncContextManager[Stores]]

    @property
    def sharing(self) -> SharingStores:
        """Where links are kept too."""
        assert isinstance(self.stores, SharingStores)
        return self.stores

    def open_sharing_again(self) -> AbstractAsyncContextManager[SharingStores]:
        return open_sharing_stores(self.settings)


@asynccontextmanager
async def open_backend(name: str, folder: Path, flags: dict[str, str] | None = None) -> AsyncIterator[Backend]:
    opener = {"sqlite": _open_sqlite, "postgres": _open_postgres, "mongodb": _open_mongodb}[name]
    async with opener(folder, flags or {}) as backend:
        yield backend


@asynccontextmanager
async def _open_sqlite(folder: Path, flags: dict[str, str]) -> AsyncIterator[Backend]:
    settings = load_settings({"data": str(folder), **flags}, environ={})

    async def age(seconds: float) -> None:
        age_sqlite(folder / "waypost.db", seconds)

    async with open_stores(settings) as stores:
        yield Backend(stores, settings, age, lambda: open_stores(settings))


@asynccontextmanager
async def _open_postgres(folder: Path, flags: dict[str, str]) -> AsyncIterator[Backend]:
    async with clean_database() as url:
        settings = load_settings({"data": str(folder), "store": url, **flags}, environ={})

        async def age(seconds: float) -> None:
            await age_postgres(url, seconds)

        async with open_stores(settings) as stores:
            yield Backend(stores, settings, age, lambda: open_stores(settings))


@asynccontextmanager
async def _open_mongodb(folder: Path, flags: dict[str, str]) -> AsyncIterator[Backend]:
    async with migrated_database() as (url, database):
        settings = load_settings({"data": str(folder), "store": url, **flags}, environ={})

        async def age(seconds: float) -> None:
            await age_mongodb(database, seconds)

        async with open_stores(settings) as stores:
            yield Backend(stores, settings, age, lambda: open_stores(settings))
