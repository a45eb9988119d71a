"""The stores that contract suites run on, one entry a backend."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from support.job_stores import age_sqlite
from waypost.bootstrap import Stores, open_stores
from waypost.settings import Settings, load_settings

BACKENDS = ("sqlite",)


@dataclass(frozen=True)
class Backend:
    """A clean store, and what only a test may do to it."""

    stores: Stores
    settings: Settings
    # Back-dates every lease and due time, as if so many seconds had passed. Nobody injects a clock into a store.
    age: Callable[[float], None]
    # A second connection to the same store, as another process has it.
    open_again: Callable[[], AbstractAsyncContextManager[Stores]]


@asynccontextmanager
async def open_backend(name: str, folder: Path, flags: dict[str, str] | None = None) -> AsyncIterator[Backend]:
    assert name == "sqlite"
    settings = load_settings({"data": str(folder), **(flags or {})}, environ={})

    def age(seconds: float) -> None:
        age_sqlite(folder / "waypost.db", seconds)

    async with open_stores(settings) as stores:
        yield Backend(stores, settings, age, lambda: open_stores(settings))
