"""The stores that the drill knows, each on private servers that end with it; as settings for `waypost`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from support.servers.private import private_mongod, private_postgres, private_redis

_SQLITE_WORKERS = 4
_TRANSACTION_SECONDS = 3


@contextmanager
def _postgres(_folder: Path) -> Iterator[dict[str, str]]:
    with private_postgres() as (url, _), private_redis() as (redis, _):
        yield {"WAYPOST_STORE": url, "WAYPOST_REDIS": redis}


@contextmanager
def _sqlite(folder: Path) -> Iterator[dict[str, str]]:
    """One file, with the budget in it too."""
    yield {"WAYPOST_STORE": f"sqlite:///{folder / 'waypost.db'}"}


@contextmanager
def _mongodb(_folder: Path) -> Iterator[dict[str, str]]:
    with private_mongod() as (url, _), private_redis() as (redis, _):
        with MongoClient[dict[str, Any]](url) as client:
            # What a killed worker was about to commit keeps its job from others for so long; by default a minute.
            client.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=_TRANSACTION_SECONDS)
        yield {"WAYPOST_STORE": url, "WAYPOST_REDIS": redis}


STORES: dict[str, Callable[[Path], AbstractContextManager[dict[str, str]]]] = {
    "postgres": _postgres,
    "sqlite": _sqlite,
    "mongodb": _mongodb,
}


def workers_for(store: str, most: int) -> int:
    """A file has one writer at a time: more processes would only wait for each other."""
    return min(most, _SQLITE_WORKERS) if store == "sqlite" else most
