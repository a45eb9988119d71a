"""Visits in a store of their own, and visits that an earlier release has kept."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from support.job_store_postgres import clean_database, run
from support.visits import NOON, visit
from waypost.adapters.errors import StoreTooOld
from waypost.adapters.postgres import migrations as postgres
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.postgres.visits import PostgresVisitStore
from waypost.adapters.sqlite import migrations as sqlite
from waypost.adapters.sqlite.database import SqliteDatabase, to_us
from waypost.adapters.sqlite.visits import SqliteVisitStore
from waypost.bootstrap.schema import migrate_schema, schema_status
from waypost.bootstrap.stores import open_stores
from waypost.kernel.configuration import SettingError
from waypost.settings import Settings, load_settings
from waypost.sharing.visits.store import Bucket, Counted, Span, VisitStore

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


@pytest.fixture(params=["sqlite", "postgres"])
async def analytics(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'analytics.db'}"
        return
    async with clean_database(migrated=False) as url:
        yield url


def chosen(folder: Path, analytics: str) -> Settings:
    return load_settings({"data": str(folder), "analytics": analytics}, environ={})


async def test_visits_are_kept_and_counted_where_they_were_put(tmp_path: Path, analytics: str) -> None:
    settings = chosen(tmp_path, analytics)
    assert "visits (analytics)" in (await schema_status(settings)).pending
    assert "visits (analytics)" in await migrate_schema(settings)
    assert await migrate_schema(settings) == []
    assert (await schema_status(settings)).pending == ()
    async with open_stores(settings) as stores:
        await stores.visits.append([visit(1), visit(2)])
        await stores.facts.set("here", "yes")
    async with open_stores(settings, must_exist=True) as stores:
        assert await stores.visits.count(["link-1"]) == {"link-1": 2}
        assert await stores.visits.rebuild(lambda _: None) == 2
        assert await stores.facts.get("here") == "yes"
    async with open_stores(chosen(tmp_path, "")) as stores:
        assert await stores.visits.count(["link-1"]) == {}


async def test_a_server_for_visits_is_not_changed_by_the_way(tmp_path: Path) -> None:
    async with clean_database(migrated=False) as url:
        with pytest.raises(StoreTooOld):
            async with open_stores(chosen(tmp_path, url)):
                pass


async def test_what_cannot_keep_visits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="analytics: there is no adapter for 'mongodb'"):
        async with open_stores(chosen(tmp_path, "mongodb://localhost/waypost")):
            pass


# An earlier release


async def check_old_visits(store: VisitStore) -> None:
    assert await store.count(["link-1", "link-2"]) == {"link-1": 3, "link-2": 1}
    assert await store.totals("link-1", Span()) == Counted(3, 0, 0)
    assert await store.totals("link-1", Span(NOON, NOON + DAY)) == Counted(2, 0, 0)
    midnight = NOON.replace(hour=0)
    assert await store.series("link-1", Span(), "day") == [Bucket(midnight, 2, 0), Bucket(midnight + DAY, 1, 0)]
    assert await store.top("link-1", Span(), "browser", 5) == [("", 3)]
    # What the release before ships beside this one is there, and counted by counting again.
    assert await store.rebuild(lambda _: None) == 5
    assert await store.count(["link-1", "link-2"]) == {"link-1": 4, "link-2": 1}


OLD_VISITS = [("1", "link-1", NOON), ("2", "link-1", NOON), ("3", "link-1", NOON + DAY), ("4", "link-2", NOON)]


async def test_visits_of_an_earlier_release_are_counted_on_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "waypost.db"
    old = "insert into visits (id, link_id, at) values (?, ?, ?) on conflict do nothing"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for migration in sqlite.known()[:6]:
            sqlite._apply(connection, migration)
        connection.executemany(old, [(each, link, to_us(at)) for each, link, at in OLD_VISITS])
        sqlite.migrate(connection)
        connection.execute(old, ("5", "link-1", to_us(NOON)))
    database = await SqliteDatabase.open(path)
    try:
        await check_old_visits(SqliteVisitStore(database))
    finally:
        database.close()


async def test_visits_of_an_earlier_release_are_counted_on_postgresql() -> None:
    old = "insert into visits (id, link_id, at) values ($1, $2, $3) on conflict (id) do nothing"
    async with clean_database(migrated=False) as url:
        database = PostgresDatabase(url, pool_size=1)

        async def apply_old(connection: object) -> None:
            for migration in postgres.known()[:6]:
                await postgres._apply(connection, migration)

        await database.run(apply_old)
        for each in OLD_VISITS:
            await run(url, old, *each)
        await database.run(postgres.migrate)
        await run(url, old, "5", "link-1", NOON)
        await check_old_visits(PostgresVisitStore(database))
        await database.close()
