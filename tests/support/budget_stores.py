"""The stores of budgets that the contract suite runs on, one function a backend, each clean for each test."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from support.job_store_postgres import clean_database
from support.job_store_redis import new_namespace
from support.memory_budget import MemoryBudgetRecords
from support.servers import redis as redis_server
from support.servers import redis_cluster as cluster_server
from waypost.adapters.postgres.budget import PostgresBudgetRecords
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.redis.budget import RedisBudgetStore
from waypost.adapters.redis.client import RedisClient
from waypost.adapters.sqlite.budget import SqliteBudgetRecords
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.scaling.ratelimit.budget import BudgetStore
from waypost.scaling.ratelimit.record_budget_store import RecordBudgetStore

# Opens the same store each time, as another process does.
OpenStore = Callable[[], AbstractAsyncContextManager[BudgetStore]]


@asynccontextmanager
async def memory(_folder: Path) -> AsyncIterator[OpenStore]:
    store = RecordBudgetStore(MemoryBudgetRecords())

    @asynccontextmanager
    async def open_store() -> AsyncIterator[BudgetStore]:
        yield store

    yield open_store


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[OpenStore]:
    @asynccontextmanager
    async def open_store() -> AsyncIterator[BudgetStore]:
        database = await SqliteDatabase.open(folder / "budgets.db")
        try:
            yield RecordBudgetStore(SqliteBudgetRecords(database))
        finally:
            database.close()

    yield open_store


@asynccontextmanager
async def postgres(_folder: Path) -> AsyncIterator[OpenStore]:
    async with clean_database() as url:

        @asynccontextmanager
        async def open_store() -> AsyncIterator[BudgetStore]:
            database = await PostgresDatabase.open(url, migrating=False)
            try:
                yield RecordBudgetStore(PostgresBudgetRecords(database))
            finally:
                await database.close()

        yield open_store


@asynccontextmanager
async def redis(_folder: Path) -> AsyncIterator[OpenStore]:
    yield _open_redis(redis_server.address())


@asynccontextmanager
async def redis_cluster(_folder: Path) -> AsyncIterator[OpenStore]:
    yield _open_redis(cluster_server.address())


def _open_redis(url: str) -> OpenStore:
    namespace = new_namespace()

    @asynccontextmanager
    async def open_store() -> AsyncIterator[BudgetStore]:
        client = await RedisClient.open(url)
        try:
            yield RedisBudgetStore(client, namespace)
        finally:
            await client.close()

    return open_store


BUDGET_STORES = {
    "memory": memory,
    "sqlite": sqlite,
    "postgres": postgres,
    "redis": redis,
    "redis-cluster": redis_cluster,
}
