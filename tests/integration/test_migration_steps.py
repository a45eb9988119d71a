"""Steps of PostgreSQL's schema: they give way to the work, and go on where they were broken off."""

import asyncio
from functools import partial

import asyncpg
import pytest

from support.job_store_postgres import clean_database, run
from support.migrating import FURTHER, fill, migrate_under_load
from waypost.adapters.errors import StoreBusy
from waypost.adapters.migrations import Migration
from waypost.adapters.postgres import migrations
from waypost.adapters.postgres.database import run_once

pytestmark = pytest.mark.anyio


async def test_nobody_is_held_up_by_steps_that_are_taken_under_load(monkeypatch: pytest.MonkeyPatch) -> None:
    # `make chaos` does the same with a million.
    await migrate_under_load(10_000, monkeypatch, lock_seconds=0.2)


async def test_several_that_take_the_same_steps_at_once_take_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with clean_database() as url:
        monkeypatch.setattr(migrations, "known", partial(tuple, (*migrations.known(), *FURTHER)))
        taken = await asyncio.gather(*(run_once(url, migrations.migrate) for _ in range(4)))
    assert sorted(each.version for some in taken for each in some) == [2, 3, 4]


async def test_an_index_whose_making_was_broken_off_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with clean_database() as url:
        monkeypatch.setattr(migrations, "known", partial(tuple, (*migrations.known(), *FURTHER)))
        connection = await asyncpg.connect(url)
        await fill(connection, 10)
        # As a killed migration leaves it.
        await connection.execute("create index places_colourless on places (external_id)")
        broken = "update pg_index set indisvalid = false where indexrelid = 'places_colourless'::regclass"
        await connection.execute(broken)
        await run_once(url, migrations.migrate)
        [[definition]] = await connection.fetch("select pg_get_indexdef('places_colourless'::regclass)")
        assert "colour IS NULL" in definition
        await connection.close()


async def test_a_step_that_would_keep_its_locks_for_long_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Migration(2, "slow", "alter table places add column colour text; select pg_sleep(60)", 1)
    async with clean_database() as url:
        monkeypatch.setattr(migrations, "known", partial(tuple, (*migrations.known(), slow)))
        monkeypatch.setattr("waypost.adapters.postgres.migrations.steps.HOLD_SECONDS", 0.1)
        with pytest.raises(StoreBusy):
            await run_once(url, migrations.migrate)
        await run(url, "alter table places add column colour text")
