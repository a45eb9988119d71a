"""The first schema, a step after it, and stores that no step leads on from: on each backend."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from support.job_store_mongodb import clean_url
from support.job_store_postgres import clean_database, run
from waypost.adapters.errors import StoreTooOld
from waypost.adapters.migrations import Migration
from waypost.adapters.mongodb import schema as mongodb_schema
from waypost.adapters.mongodb.database import MongoDatabase
from waypost.adapters.postgres import migrations as postgres_migrations
from waypost.adapters.sqlite import migrations as sqlite_migrations
from waypost.bootstrap.schema import SchemaStatus, migrate_schema, schema_status
from waypost.bootstrap.stores import open_stores
from waypost.scaling.jobs.job import NewJob
from waypost.settings import Settings, load_settings

pytestmark = pytest.mark.anyio

SHARD = "ocm/country:DE/full:2026-02-21"
STEP = Migration(2, "colours", "alter table places add column colour text", oldest_code=1)


@pytest.fixture(params=["sqlite", "postgres", "mongodb"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Settings]:
    if request.param == "sqlite":
        yield load_settings({"data": str(tmp_path)}, environ={})
        return
    async with clean_database(migrated=False) if request.param == "postgres" else clean_url() as url:
        yield load_settings({"data": str(tmp_path), "store": url}, environ={})


Release = Callable[[], None]


@pytest.fixture
def next_release(monkeypatch: pytest.MonkeyPatch) -> Release:
    """From then on this is the code of a release that has a second step."""

    def released() -> None:
        for module in (sqlite_migrations, postgres_migrations):
            known = (*module.known(), STEP)
            monkeypatch.setattr(module, "known", partial(tuple, known))
        monkeypatch.setattr("waypost.bootstrap.schema.known", sqlite_migrations.known)
        monkeypatch.setattr(mongodb_schema, "NAMES", ("schema", STEP.name))
        monkeypatch.setattr(mongodb_schema, "VERSION", 2)

    return released


async def test_a_first_schema_is_made_once(settings: Settings) -> None:
    assert await schema_status(settings) == SchemaStatus(0, ("schema",))
    assert await migrate_schema(settings) == ["schema"]
    assert await migrate_schema(settings) == []
    assert await schema_status(settings) == SchemaStatus(1, ())


async def test_a_further_step_keeps_what_is_there_and_lets_the_release_before_go_on(
    settings: Settings, next_release: Release
) -> None:
    await migrate_schema(settings)
    async with open_stores(settings) as before:
        await before.jobs.enqueue([NewJob(SHARD)])
        next_release()
        assert await schema_status(settings) == SchemaStatus(1, (STEP.name,))
        if settings.storage.on_server:
            with pytest.raises(StoreTooOld, match="waypost db migrate"):
                async with open_stores(settings):
                    pass
        assert await migrate_schema(settings) == [STEP.name]
        assert await schema_status(settings) == SchemaStatus(2, ())
        async with open_stores(settings) as after:
            assert [job.shard for job in await after.jobs.list()] == [SHARD]
        await before.jobs.enqueue([NewJob(f"{SHARD}/part:1")])
        assert len(await before.jobs.list()) == 2


async def test_the_release_before_starts_on_a_schema_that_only_grew(
    settings: Settings, next_release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    next_release()
    await migrate_schema(settings)
    monkeypatch.undo()
    async with open_stores(settings) as stores:
        await stores.jobs.enqueue([NewJob(SHARD)])
    assert await schema_status(settings) == SchemaStatus(2, ())


async def pretend_development(settings: Settings) -> None:
    """Leave what a version from before the first schema was settled says of its own, which had eight steps."""
    url = settings.storage.store_url
    if settings.storage.in_mongodb:
        database = await MongoDatabase.connect(url)
        await database.database.schema.update_one({}, {"$set": {"version": 2}, "$unset": {"first": ""}})
        await database.close()
        return
    for statement in (
        "alter table migrations drop column digest",
        "update migrations set version = 8, name = 'rejects'",
        "insert into migrations select 1, 'start', oldest_code, applied_at from migrations",
    ):
        if settings.storage.on_server:
            await run(url, statement)
        else:
            with closing(sqlite3.connect(f"{settings.storage.data}/waypost.db", isolation_level=None)) as connection:
                connection.execute(statement)


async def test_a_store_of_a_development_version_is_refused_with_what_to_do(settings: Settings) -> None:
    await migrate_schema(settings)
    await pretend_development(settings)
    for attempt in (migrate_schema, schema_status):
        with pytest.raises(StoreTooOld, match="development version") as refused:
            await attempt(settings)
        assert "another" in str(refused.value.next_step)
        assert "waypost link export" in str(refused.value.next_step)
    with pytest.raises(StoreTooOld, match="development version"):
        async with open_stores(settings):
            pass


def test_a_step_is_the_same_however_it_is_explained_and_another_when_it_does_something_else() -> None:
    explained = Migration(2, "colours", "-- Why.\nalter table places\n  add column colour text", oldest_code=1)
    other = Migration(2, "colours", "alter table places add column color text", oldest_code=1)
    assert explained.digest == STEP.digest != other.digest
