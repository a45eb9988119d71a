"""The job stores that the contract suite runs on, one function a backend, each with a clean store for each test."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from support.job_backend import JobBackend
from support.job_store_mongodb import mongodb
from support.job_store_postgres import postgres
from support.job_store_redis import redis, redis_cluster
from support.memory_jobs import MemoryJobStore
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.sqlite.jobs import SqliteJobStore
from waypost.scaling.jobs.store import JobStore


@asynccontextmanager
async def memory(_folder: Path) -> AsyncIterator[JobBackend]:
    store = MemoryJobStore()

    async def age(seconds: float) -> None:
        age_memory(store, seconds)

    @asynccontextmanager
    async def open_again() -> AsyncIterator[JobStore]:
        yield store

    yield JobBackend(store, age, open_again)


def age_memory(store: MemoryJobStore, seconds: float) -> None:
    back = timedelta(seconds=seconds)
    # In one step, as on every store: clients may be at work in other threads.
    with store._lock:
        for key, job in store.jobs.items():
            store.jobs[key] = replace(
                job,
                not_before=job.not_before - back,
                lease_until=job.lease_until and job.lease_until - back,
                finished_at=job.finished_at and job.finished_at - back,
            )


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[JobBackend]:
    path = folder / "jobs.db"

    @asynccontextmanager
    async def open_again() -> AsyncIterator[JobStore]:
        database = await SqliteDatabase.open(path)
        try:
            yield SqliteJobStore(database)
        finally:
            database.close()

    async def age(seconds: float) -> None:
        age_sqlite(path, seconds)

    async with open_again() as store:
        yield JobBackend(store, age, open_again)


def age_sqlite(path: Path, seconds: float) -> None:
    connection = sqlite3.connect(path, timeout=10)
    with connection:
        connection.execute(
            "update jobs set lease_until = lease_until - :back, not_before = not_before - :back,"
            " finished_at = finished_at - :back",
            {"back": round(seconds * 1e6)},
        )
    connection.close()


JOB_STORES = {
    "memory": memory,
    "sqlite": sqlite,
    "mongodb": mongodb,
    "postgres": postgres,
    "redis": redis,
    "redis-cluster": redis_cluster,
}
