"""What only SQLite's job store can show: which indexes its statements use."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.sqlite.jobs import SQL, SqliteJobStore
from waypost.scaling.jobs.job import Done, NewJob


@pytest.fixture
def full_of_finished_jobs(tmp_path: Path) -> Path:
    async def fill() -> None:
        database = await SqliteDatabase.open(tmp_path / "jobs.db")
        store = SqliteJobStore(database)
        await store.enqueue([NewJob(f"ocm/country:DE/ids:{number}..") for number in range(3000)], group="one")
        leases = await store.claim("me", limit=2900, lease=30, max_vanished=5)
        await store.complete([Done(lease) for lease in leases])
        database.close()

    asyncio.run(fill())
    return tmp_path / "jobs.db"


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("due", "jobs_pending"),
        ("expired", "jobs_leased"),
        ("bury", "jobs_leased"),
        ("renew", "sqlite_autoindex_jobs_1"),
        ("counters", "sqlite_autoindex_jobs_1"),
        ("tally", "PRIMARY KEY"),
    ],
)
def test_no_statement_of_a_worker_reads_the_finished_jobs(full_of_finished_jobs: Path, name: str, index: str) -> None:
    connection = sqlite3.connect(full_of_finished_jobs)
    connection.execute("analyze")
    values = dict.fromkeys(("now", "limit", "group", "max_vanished", "until", "id", "fence"), 1)
    plan = "\n".join(row[3] for row in connection.execute(f"explain query plan {SQL[name]}", values))
    connection.close()
    assert index in plan
    assert "SCAN jobs\n" not in plan + "\n"
