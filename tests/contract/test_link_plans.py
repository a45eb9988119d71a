"""Whatever is asked about links is looked up by an index, in the order in which it lies there."""

import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.links import NOON, TARGET
from support.postgres_plans import indexes_in, plan_of, tables_read_whole
from support.stores import Backend, open_backend
from waypost.adapters.postgres import keys as postgres_keys
from waypost.adapters.postgres import links as postgres_links
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.sqlite import links as sqlite_links
from waypost.sharing.links.store import Position, Wanted

pytestmark = pytest.mark.anyio

BEHIND = Position(NOON, "link")
LISTS = {
    "links_created": Wanted(created_from=NOON - timedelta(days=1), created_to=NOON + timedelta(days=1)),
    "links_by_language": Wanted(language="de"),
    "links_by_theme": Wanted(language="de", theme="food"),
    "links_by_owner": Wanted(owner="key-7"),
    "link_tags": Wanted(tag="tag-7"),
}
each_list = pytest.mark.parametrize("index", LISTS)
each_page = pytest.mark.parametrize("after", [None, BEHIND], ids=["first page", "next page"])


# SQLite


@pytest.fixture
def sqlite(tmp_path: Path) -> sqlite3.Connection:
    return sqlite3.connect(tmp_path / "waypost.db")


@pytest.fixture
async def sqlite_backend(tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend("sqlite", tmp_path) as opened:
        yield opened


def steps(connection: sqlite3.Connection, sql: str, values: dict[str, Any]) -> list[str]:
    return [row[3] for row in connection.execute(f"explain query plan {sql}", values)]


@each_list
@each_page
async def test_sqlite_lists_by_an_index(
    sqlite_backend: Backend, sqlite: sqlite3.Connection, index: str, after: Position | None
) -> None:
    plan = steps(sqlite, *sqlite_links.page_statement(LISTS[index], after, None, limit=10))
    found = "link_tags USING PRIMARY KEY (tag=?" if index == "link_tags" else f"USING INDEX {index} ("
    assert found in plan[0]
    assert all(step.startswith("SEARCH") for step in plan)
    if after:
        assert "(created_at,id)<(?,?)" in plan[0]


async def test_sqlite_walks_an_index_to_look_for_a_text(sqlite_backend: Backend, sqlite: sqlite3.Connection) -> None:
    [first, *rest] = steps(sqlite, *sqlite_links.page_statement(Wanted(text="otter"), None, None, limit=10))
    assert (first, rest) == ("SCAN links USING INDEX links_created", [])


@pytest.mark.parametrize(
    ("statement", "index"),
    [("find", "sqlite_autoindex_links_2 (folded=?)"), ("get", "sqlite_autoindex_links_1 (id=?)")],
)
async def test_sqlite_finds_a_link_by_an_index(
    sqlite_backend: Backend, sqlite: sqlite3.Connection, statement: str, index: str
) -> None:
    plan = steps(sqlite, sqlite_links.SQL[statement], {"folded": '["otter"]', "id": "link"})
    assert plan[0] == f"SEARCH links USING INDEX {index}"
    assert not [step for step in plan if step.startswith("SCAN links")]


async def test_sqlite_finds_a_link_to_a_target_and_what_stands_in_a_links_way_by_indexes(
    sqlite_backend: Backend, sqlite: sqlite3.Connection
) -> None:
    plan = steps(sqlite, sqlite_links.SQL["to_target"], {"owner": "key", "target": TARGET})
    assert plan == ["SEARCH links USING INDEX links_to_target (owner=? AND target=?)"]
    plan = steps(sqlite, sqlite_links.SQL["in_the_way"], {"id": "link", "folded": "otter", "looks": "otter"})
    assert len([step for step in plan if step.startswith("SEARCH links USING INDEX")]) == 3
    assert not [step for step in plan if step.startswith("SCAN links")]


# PostgreSQL


@pytest.fixture
async def admin(tmp_path: Path) -> AsyncIterator[Any]:
    """A connection as the store has it, which has settings of its own, to a store of some size."""
    async with open_backend("postgres", tmp_path) as opened:
        database = await PostgresDatabase.open(opened.settings.storage.store_url, migrating=False, pool_size=1)
        async with database.transaction() as connection:
            await fill(connection)
            yield connection
        await database.close()


async def fill(connection: Any) -> None:
    await connection.execute(
        """
        insert into links
          (id, phrase, folded, looks, target, language, theme, format, created_at, updated_at, owner, deleted)
        select 'link-' || number, number, number, number, 'https://example.org/' || number % 5000,
          case number % 100 when 0 then 'de' else 'en' end, case number % 7 when 0 then 'food' end, 'kebab',
          timestamptz '2026-02-21' + number * interval '1 second', now(), 'key-' || number % 50, number % 10 = 0
        from generate_series(1, 20000) as number
        """
    )
    await connection.execute("insert into link_tags select 'tag-' || hashtext(id) % 50, created_at, id from links")
    await connection.execute("analyze links, link_tags")


async def assert_quick(connection: Any, sql: str, *arguments: object, index: str) -> None:
    plan = await plan_of(connection, sql, *arguments)
    assert index in indexes_in(plan)
    assert tables_read_whole(plan) == []
    assert not [step for step in plan if "Sort" in step["Node Type"]]


@each_list
@each_page
async def test_postgresql_lists_by_an_index(admin: Any, index: str, after: Position | None) -> None:
    sql, arguments = postgres_links.page_statement(LISTS[index], after, None, limit=10)
    for mode in ("force_custom_plan", "force_generic_plan"):
        await admin.execute(f"set plan_cache_mode = {mode}")
        await assert_quick(admin, sql, *arguments, index="link_tags_pkey" if index == "link_tags" else index)


async def test_postgresql_walks_an_index_to_look_for_a_text(admin: Any) -> None:
    sql, arguments = postgres_links.page_statement(Wanted(text="otter"), BEHIND, None, limit=10)
    await assert_quick(admin, sql, *arguments, index="links_created")


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_postgresql_looks_everything_up_by_an_index(admin: Any, mode: str) -> None:
    await admin.execute(f"set plan_cache_mode = {mode}")
    statements = postgres_links.SQL
    await assert_quick(admin, statements["find"], ["otter"], index="links_folded_key")
    await assert_quick(admin, statements["get"], "link", index="links_pkey")
    await assert_quick(admin, statements["to_target"], "key-7", TARGET, index="links_to_target")
    await assert_quick(admin, statements["history"], "link", 0, 1000, index="link_edits_pkey")
    await assert_quick(admin, postgres_keys.SQL["find"], "key", index="keys_pkey")
    plan = await plan_of(admin, statements["in_the_way"], ["link"], ["otter"], ["otter"])
    assert indexes_in(plan) == {"links_pkey", "links_folded_key", "links_by_looks"}
    assert tables_read_whole(plan) == []
