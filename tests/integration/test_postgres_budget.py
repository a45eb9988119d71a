"""Budgets on PostgreSQL: a process that is stopped with the lock in its hands holds up the others for a moment only."""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from support.job_store_postgres import clean_database
from waypost.adapters.postgres.budget import SQL, PostgresBudgetRecords
from waypost.adapters.postgres.database import PostgresDatabase

pytestmark = pytest.mark.anyio

NAMES = ["ocm:key"]
# Stops itself after it has the lock, and before it has computed anything.
STOPS = """
import asyncio, os, signal, sys
from waypost.adapters.postgres.budget import PostgresBudgetRecords
from waypost.adapters.postgres.database import PostgresDatabase

def stop(texts, now):
    print("stops", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    return [b"late"], None

async def main():
    records = PostgresBudgetRecords(await PostgresDatabase.open(sys.argv[1], migrating=False))
    await records.change(["ocm:key"], stop)

asyncio.run(main())
"""


def note(texts: Sequence[bytes | None], _now: int) -> tuple[Sequence[bytes], Sequence[bytes | None]]:
    return [b"noted"], texts


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresDatabase]:
    database = await PostgresDatabase.open(url, migrating=False)
    try:
        yield database
    finally:
        await database.close()


async def test_a_process_that_is_stopped_with_the_lock_is_thrown_out_and_what_it_wanted_is_not_kept() -> None:
    async with clean_database() as url, opened(url) as database:
        records = PostgresBudgetRecords(database)
        await records.change(NAMES, note)
        stopped = await asyncio.create_subprocess_exec(sys.executable, "-c", STOPS, url, stdout=PIPE, stderr=DEVNULL)
        try:
            assert stopped.stdout
            assert await stopped.stdout.readline() == b"stops\n"
            assert await asyncio.wait_for(records.change(NAMES, note), 60) == [b"noted"]
            stopped.send_signal(signal.SIGCONT)
            assert await asyncio.wait_for(stopped.wait(), 60) != 0
        finally:
            with suppress(ProcessLookupError):
                stopped.kill()
        assert (await records.read(NAMES))[0] == [b"noted"]


async def test_it_has_half_a_second_to_go_on() -> None:
    async with clean_database() as url, opened(url) as database, database.transaction() as tx:
        await tx.execute(SQL["make"], NAMES)
        await tx.fetch(SQL["lock"], NAMES)
        assert await tx.fetchval("show idle_in_transaction_session_timeout") == "500ms"


async def test_a_process_stands_in_the_line_for_the_lock_once_whatever_it_has_under_way() -> None:
    """Stopped there, it would get the lock once more for each place it has, and hold everybody up each time."""
    async with clean_database() as url, opened(url) as database:
        records = PostgresBudgetRecords(database)
        await records.change(NAMES, note)
        admin = await asyncpg.connect(url)
        try:
            async with admin.transaction():
                await admin.fetch(SQL["lock"], NAMES)
                await admin.execute("set local idle_in_transaction_session_timeout = 0")
                changes = [asyncio.create_task(records.change(NAMES, note)) for _ in range(8)]
                await asyncio.sleep(0)
                # Were more of its connections in the line, none would be left for this.
                [row] = await database.fetch("select count(*) as waiting from pg_locks where not granted")
                assert row["waiting"] <= 1
            assert await asyncio.gather(*changes) == [[b"noted"]] * 8
        finally:
            await admin.close()
