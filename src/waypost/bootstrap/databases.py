"""Connections to the servers and files that stores are kept in; each is closed with the stack that it was opened on."""

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import NotFound

if TYPE_CHECKING:
    from waypost.adapters.mongodb.database import MongoDatabase
    from waypost.adapters.postgres.database import PostgresDatabase
    from waypost.adapters.redis.client import RedisClient

SQLITE = "sqlite:///"


class NoStore(NotFound):
    """There is nothing yet to look into; most likely the folder's name is misspelt."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Wraps imports that the embedded default does not need; a missing package becomes advice on what to install."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("waypost."):
            # A defect of ours, which no package would mend.
            raise
        raise SettingError(
            f"a package that this setting needs is not installed ({error.name})",
            next_step=f"pip install 'waypost[{name}]'",
        ) from error


async def open_sqlite(url: str, setting: str, stack: AsyncExitStack, *, must_exist: bool = False) -> SqliteDatabase:
    path = sqlite_path(url, setting)
    if must_exist:
        _refuse_missing(path)
    database = await SqliteDatabase.open(path)
    stack.callback(database.close)
    return database


async def open_postgres(url: str, stack: AsyncExitStack, *, migrating: bool = False) -> "PostgresDatabase":
    with extra("postgres"):
        from waypost.adapters.postgres.database import PostgresDatabase
    database = await PostgresDatabase.open(url, migrating=migrating)
    stack.push_async_callback(database.close)
    return database


async def open_mongo(url: str, stack: AsyncExitStack, *, migrating: bool = False) -> "MongoDatabase":
    with extra("mongodb"):
        from waypost.adapters.mongodb.database import MongoDatabase
    database = await MongoDatabase.open(url, migrating=migrating)
    stack.push_async_callback(database.close)
    return database


async def open_redis(url: str, stack: AsyncExitStack) -> "RedisClient":
    with extra("redis"):
        from waypost.adapters.redis.client import RedisClient
    client = await RedisClient.open(url)
    stack.push_async_callback(client.close)
    return client


def sqlite_path(url: str, setting: str) -> Path:
    if not url.startswith(SQLITE) or url == SQLITE:
        scheme = url.partition(":")[0][:40]
        servers = "postgresql://…" if setting == "analytics" else "postgresql://…, mongodb://…"
        raise SettingError(
            f"{setting}: there is no adapter for {scheme!r}; there is {servers} and sqlite:///path",
            parameter=setting,
        )
    return Path(url.removeprefix(SQLITE))


def _refuse_missing(path: Path) -> None:
    if not path.exists():
        raise NoStore(
            f"there is no store at {path}", next_step="check --data, or fill it: waypost import run --country DE,FR"
        )
