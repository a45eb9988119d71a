"""Jobs on the run's PostgreSQL, in a database of their own for each test."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from support.job_backend import JobBackend
from support.servers import postgres as server
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.postgres.jobs import PostgresJobStore
from waypost.scaling.jobs.store import JobStore

_TEMPLATE = "waypost_template"
# What the run's processes agree to lock while one of them makes the template.
_LOCK = 1
# Of the servers where this process knows the template to be.
_has_template: set[str] = set()


@asynccontextmanager
async def postgres(_folder: Path) -> AsyncIterator[JobBackend]:
    async with clean_database() as url:

        @asynccontextmanager
        async def open_again() -> AsyncIterator[JobStore]:
            database = await PostgresDatabase.open(url, migrating=False)
            try:
                yield PostgresJobStore(database)
            finally:
                await database.close()

        async def age(seconds: float) -> None:
            await age_postgres(url, seconds)

        async with open_again() as store:
            yield JobBackend(store, age, open_again)


@asynccontextmanager
async def clean_database(*, migrated: bool = True) -> AsyncIterator[str]:
    """The URL of a database that nobody else uses and that is gone afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    maintenance = f"{server.primary()}/postgres"
    await _make_template(maintenance)
    await run(
        maintenance, f"create database {name} template {_TEMPLATE if migrated else 'template0'} strategy file_copy"
    )
    try:
        yield f"{server.primary()}/{name}"
    finally:
        await run(maintenance, f"drop database {name} with (force)")


async def age_postgres(url: str, seconds: float) -> None:
    await run(
        url,
        "update jobs set lease_until = lease_until - $1 * interval '1 second',"
        " not_before = not_before - $1 * interval '1 second',"
        " finished_at = finished_at - $1 * interval '1 second'",
        seconds,
    )


async def run(url: str, statement: str, *arguments: object) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement, *arguments)
    finally:
        await connection.close()


async def until(connection: Any, question: str, *arguments: object) -> None:
    """Ask the server until it says yes; the limit is the test's own time-out."""
    while not await connection.fetchval(question.replace("now()", "clock_timestamp()"), *arguments):
        # In a transaction the server would go on showing who was active when it was asked first.
        await connection.execute("select pg_stat_clear_snapshot()")


async def _make_template(maintenance: str) -> None:
    """A migrated database to copy, made once a run: migrating each test's own would cost more than most tests."""
    if maintenance in _has_template:
        return
    connection = await asyncpg.connect(maintenance)
    try:
        await connection.execute("select pg_advisory_lock($1)", _LOCK)
        if not await connection.fetchval("select 1 from pg_database where datname = $1", _TEMPLATE):
            await connection.execute(f"create database {_TEMPLATE}")
            database = await PostgresDatabase.open(f"{server.primary()}/{_TEMPLATE}", migrating=True)
            await database.close()
    finally:
        await connection.close()
    _has_template.add(maintenance)
