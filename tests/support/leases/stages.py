"""The stores that lease histories are made on: with servers of the run's own, or with one that may be killed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from support.chaos.stores import OWN_SERVERS
from support.job_store_mongodb import age_mongodb, migrated_database, open_database
from support.job_store_postgres import age_postgres, clean_database
from support.job_store_redis import age_redis, new_namespace, open_jobs
from support.job_stores import age_memory, age_sqlite
from support.leases.clients import Opened
from support.leases.runs import Stage
from support.memory_jobs import MemoryJobStore
from support.servers import redis as redis_server
from support.servers.private import PrivateServer
from waypost.adapters.mongodb.jobs import MongoJobStore
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.postgres.jobs import PostgresJobStore
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.sqlite.jobs import SqliteJobStore
from waypost.kernel.errors import StoreTrouble

_T = TypeVar("_T")
_Open = Callable[[], AbstractAsyncContextManager[Opened]]


@contextmanager
def memory(_folder: Path, make: Callable[[], MemoryJobStore] = MemoryJobStore) -> Iterator[Stage]:
    store = make()

    async def age(seconds: float) -> None:
        age_memory(store, seconds)

    @asynccontextmanager
    async def opening() -> AsyncIterator[Opened]:
        yield Opened(store, age)

    yield Stage(opening)


@contextmanager
def sqlite(folder: Path) -> Iterator[Stage]:
    path = folder / "jobs.db"

    async def age(seconds: float) -> None:
        await asyncio.to_thread(age_sqlite, path, seconds)

    @asynccontextmanager
    async def opening() -> AsyncIterator[Opened]:
        database = await SqliteDatabase.open(path)
        try:
            yield Opened(SqliteJobStore(database), _troubled(age))
        finally:
            database.close()

    yield Stage(opening)


@contextmanager
def postgres(_folder: Path) -> Iterator[Stage]:
    with asyncio.Runner() as runner, _entered(runner, clean_database()) as url:
        yield Stage(partial(_open_postgres, url))


@contextmanager
def mongodb(_folder: Path) -> Iterator[Stage]:
    with asyncio.Runner() as runner, _entered(runner, migrated_database()) as (url, _):
        yield Stage(partial(_open_mongodb, url))


@contextmanager
def redis(_folder: Path) -> Iterator[Stage]:
    yield Stage(partial(_open_redis, redis_server.address(), new_namespace()))


@contextmanager
def killed(name: str) -> Iterator[Stage]:
    """With a server of its own, which a client kills and starts again."""
    with OWN_SERVERS[name]() as (url, server):
        openings: dict[str, _Open] = {
            "postgres": partial(_open_postgres, url),
            "mongodb": partial(_open_mongodb, url),
            "redis": partial(_open_redis, url, new_namespace()),
        }
        asyncio.run(_migrate(name, url))
        yield Stage(openings[name], partial(_restart, server))


def _restart(server: PrivateServer) -> None:
    server.kill()
    server.start()


async def _migrate(name: str, url: str) -> None:
    match name:
        case "postgres":
            await (await PostgresDatabase.open(url, migrating=True)).close()
        case "mongodb":
            async with open_database(url, migrating=True):
                pass


@asynccontextmanager
async def _open_postgres(url: str) -> AsyncIterator[Opened]:
    database = await PostgresDatabase.open(url, migrating=False)
    try:
        yield Opened(PostgresJobStore(database), _troubled(partial(age_postgres, url)))
    finally:
        await database.close()


@asynccontextmanager
async def _open_mongodb(url: str) -> AsyncIterator[Opened]:
    async with open_database(url) as database:
        yield Opened(MongoJobStore(database), _troubled(partial(age_mongodb, database)))


@asynccontextmanager
async def _open_redis(url: str, namespace: str) -> AsyncIterator[Opened]:
    async with open_jobs(url, namespace) as jobs:
        yield Opened(jobs, _troubled(partial(age_redis, url, namespace)))


def _troubled(age: Callable[[float], Awaitable[None]]) -> Callable[[float], Awaitable[None]]:
    """Tests age by the driver itself, whose errors are not ours."""

    async def aged(seconds: float) -> None:
        try:
            await age(seconds)
        except Exception as error:
            raise StoreTrouble(str(error)) from error

    return aged


@contextmanager
def _entered(runner: asyncio.Runner, manager: AbstractAsyncContextManager[_T]) -> Iterator[_T]:
    async def enter() -> _T:
        return await manager.__aenter__()

    async def leave() -> None:
        await manager.__aexit__(None, None, None)

    value = runner.run(enter())
    try:
        yield value
    finally:
        runner.run(leave())


STAGES: dict[str, Callable[[Path], AbstractContextManager[Stage]]] = {
    "memory": memory,
    "sqlite": sqlite,
    "mongodb": mongodb,
    "postgres": postgres,
    "redis": redis,
}
