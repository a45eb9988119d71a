"""The stores that the drill knows, each on private servers that end with it; as settings for `waypost`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from drills.importing.plan import Budget
from support.servers.private import PrivateServer, private_mongod, private_postgres, private_redis

_SQLITE_WORKERS = 4
_TRANSACTION_SECONDS = 3


@dataclass(frozen=True)
class Stores:
    """`server` is the one with the places and jobs; a file has none."""

    env: Mapping[str, str]
    server: PrivateServer | None = None


@contextmanager
def _postgres(_folder: Path) -> Iterator[Stores]:
    with private_postgres() as (url, server):
        yield Stores({"WAYPOST_STORE": url}, server)


@contextmanager
def _sqlite(folder: Path) -> Iterator[Stores]:
    yield Stores({"WAYPOST_STORE": f"sqlite:///{folder / 'waypost.db'}"})


@contextmanager
def _mongodb(_folder: Path) -> Iterator[Stores]:
    # What a killed worker was about to commit keeps its job from others for so long; by default a minute. As an option,
    # because a server that is killed and started again forgets what it was told.
    with private_mongod("--setParameter", f"transactionLifetimeLimitSeconds={_TRANSACTION_SECONDS}") as (url, server):
        yield Stores({"WAYPOST_STORE": url}, server)


STORES: dict[str, Callable[[Path], AbstractContextManager[Stores]]] = {
    "postgres": _postgres,
    "sqlite": _sqlite,
    "mongodb": _mongodb,
}


@contextmanager
def stores(name: str, folder: Path, budget: Budget) -> Iterator[Stores]:
    """With the budget in Redis, or wherever it is without one: in the store, and with MongoDB in a file."""
    with ExitStack() as stack:
        found = stack.enter_context(STORES[name](folder))
        redis = {"WAYPOST_REDIS": stack.enter_context(private_redis())[0]} if budget == "redis" else {}
        yield Stores({**found.env, **redis}, found.server)


def workers_for(store: str, most: int) -> int:
    """A file has one writer at a time: more processes would only wait for each other."""
    return min(most, _SQLITE_WORKERS) if store == "sqlite" else most
