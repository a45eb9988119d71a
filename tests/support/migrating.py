"""Steps of a schema that are taken while others read and write."""

import asyncio
import random
from functools import partial
from typing import Any

import asyncpg
import pytest

from support.job_store_postgres import clean_database, until
from waypost.adapters.migrations import Migration
from waypost.adapters.postgres import migrations
from waypost.adapters.postgres.database import run_once
from waypost.adapters.postgres.migrations import steps
from waypost.adapters.postgres.migrations.steps import HOLD_SECONDS, LOCK_SECONDS

_WRITERS = 3
FURTHER = (
    Migration(2, "colour", "alter table places add column colour text, add column shade text default 'dark'", 1),
    Migration(
        3,
        "colourless",
        "-- concurrently\ncreate index concurrently if not exists places_colourless on places (external_id)"
        " where colour is null",
        1,
    ),
    Migration(
        4,
        "painted",
        "-- in bites\nupdate places set colour = 'red' where external_id = any(array("
        "select external_id from places where colour is null order by external_id limit 5000 for update))",
        1,
    ),
)
# The step that waits for the table, and since when.
_WAITING = """
    select query_start from pg_stat_activity
    where wait_event_type = 'Lock' and query like 'alter table places%' and datname = current_database()
      and query_start > $1
"""


async def fill(connection: Any, rows: int) -> None:
    await connection.execute(
        """
        insert into places
          (external_id, id, place, record, content_hash, requested_at, changed_at, source, area, number)
        select 'ocm:' || number, gen_random_uuid(), '{}', '', '', now(), now(), 'ocm', 'country:DE', number
        from generate_series(1, $1::integer) as number
        """,
        rows,
        timeout=600,
    )


async def write_until(stopped: asyncio.Event, url: str, rows: int, counts: list[int], name: int) -> None:
    """As the release before does. A statement that is held up for too long fails, and with it the test."""
    bearable = round((LOCK_SECONDS + HOLD_SECONDS) * 1000)
    connection = await asyncpg.connect(url, server_settings={"statement_timeout": f"{bearable}ms"})
    rng = random.Random(name)
    while not stopped.is_set():
        place = f"ocm:{rng.randrange(rows)}"
        await connection.execute("update places set version = version + 1 where external_id = $1", place)
        await connection.fetchrow("select place, record from places where external_id = $1", place)
        counts[name] += 1
    await connection.close()


async def get_in_the_way(held: asyncio.Event, url: str, counts: list[int]) -> None:
    """Holds the table until the step has given up and come again, while the others went on."""
    holder, watching = await asyncpg.connect(url), await asyncpg.connect(url)
    async with holder.transaction():
        await holder.execute("select 1 from places limit 1")
        held.set()
        since = await watching.fetchval("select now()")
        for _ in range(2):
            await until(watching, _WAITING, since)
            since = await watching.fetchval(f"select coalesce(max(query_start), now()) from ({_WAITING}) as at", since)
            before = list(counts)
            while any(now == then for now, then in zip(counts, before, strict=True)):  # noqa: ASYNC110 - they count
                await asyncio.sleep(0)
    await holder.close()
    await watching.close()


async def migrate_under_load(rows: int, monkeypatch: pytest.MonkeyPatch, lock_seconds: float = LOCK_SECONDS) -> None:
    """Three further steps on a table of so many rows, while others read and write it."""
    monkeypatch.setattr(steps, "LOCK_SECONDS", lock_seconds)
    async with clean_database() as url:
        admin = await asyncpg.connect(url)
        await fill(admin, rows)
        monkeypatch.setattr(migrations, "known", partial(tuple, (*migrations.known(), *FURTHER)))
        counts, held, stopped = [0] * _WRITERS, asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for name in range(_WRITERS):
                tasks.create_task(write_until(stopped, url, rows, counts, name))
            tasks.create_task(get_in_the_way(held, url, counts))
            await held.wait()
            applied = await run_once(url, migrations.migrate)
            stopped.set()
        assert [each.name for each in applied] == [each.name for each in FURTHER]
        assert await admin.fetchval("select count(*) from places where colour = 'red' and shade = 'dark'") == rows
        assert await admin.fetchval("select indisvalid from pg_index where indexrelid = 'places_colourless'::regclass")
        assert await run_once(url, migrations.migrate) == []
        await admin.close()
