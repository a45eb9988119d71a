"""However many visits a link has, questions about it read what was counted, and of events only what is at the edges."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from support.job_store_postgres import clean_database
from support.postgres_plans import plan_of, tables_read_whole
from waypost.adapters.postgres import visits as postgres
from waypost.adapters.sqlite import visits as sqlite
from waypost.adapters.sqlite.migrations import migrate
from waypost.adapters.visit_rows import COLUMN_OF

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAYS, HOURS = (20_000, 20_400), (480_000, 480_010, 489_600, 489_610)
MOMENTS = (NOON, NOON + HOUR, NOON + 2 * HOUR, NOON + 3 * HOUR)
MICROSECONDS = tuple(round(moment.timestamp() * 1_000_000) for moment in MOMENTS)
PERIODS = (625, 637, 20_000, 20_010, -1, 20_390, 20_400, 1, 480_000, 480_010, 1, 489_600, 489_610, -1, *DAYS, *HOURS)
LINKS = ["7", "8"]

# What is looked up, with its arguments; `moments` stands for those that the backends write differently.
QUESTIONS: dict[str, tuple[Any, ...]] = {
    "totals": ("7", *DAYS, *HOURS, "moments", 20_000, 255, 20_400, 255),
    "series": ("7", *DAYS, *HOURS, "moments", 480_000, 480_010),
    "top": ("7", "browser", *PERIODS, "moments", 10),
}


def arguments(name: str, moments: tuple[Any, ...]) -> list[Any]:
    return [each for value in QUESTIONS[name] for each in (moments if value == "moments" else (value,))]


# PostgreSQL


@pytest.fixture
async def server() -> AsyncIterator[Any]:
    async with clean_database() as url:
        connection = await asyncpg.connect(url)
        await connection.execute(
            """
            insert into visits (id, link_id, at, visitor)
            select number, number % 20, timestamptz '2026-01-01' + number * interval '1 minute', number
            from generate_series(1, 40000) as number;
            insert into visit_totals (link_id) select number from generate_series(1, 5000) as number;
            insert into visit_days select number % 20, number / 20, 1, 1, 1 from generate_series(1, 20000) as number;
            insert into visit_hours select number % 20, number / 20, 1, 1 from generate_series(1, 40000) as number;
            insert into visit_values select number % 20, 'browser', 1, number / 20, 'Chrome', 1
            from generate_series(1, 40000) as number;
            insert into visit_visitors select number % 20, number / 20, number, 1
            from generate_series(1, 40000) as number;
            insert into visit_arrivals select number % 20, number / 20, number / 20 - 1, 1
            from generate_series(1, 40000) as number;
            """
        )
        await connection.execute("analyze")
        # As the store's own connections are set.
        await connection.execute("set enable_seqscan = off; set enable_sort = off")
        yield connection
        await connection.close()


COUNTING_AGAIN = {
    "hold": (LINKS,),
    "clear_days": (LINKS, *DAYS),
    "clear_visitors": (LINKS, *DAYS),
    "clear_hours": (LINKS, *HOURS[:2]),
    "clear_arrivals": (LINKS, *HOURS[:2]),
    "clear_values": (LINKS, ["browser"], 24, *DAYS),
    "add_up_stretches": (LINKS, ["browser"], 625, 637),
    "all_of": (LINKS, *MOMENTS[:2]),
    "how_many": (LINKS, *MOMENTS[:2], 1000),
}


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_postgresql_finds_everything_by_link_and_time(server: Any, mode: str) -> None:
    await server.execute(f"set plan_cache_mode = {mode}")
    asked = {name: (postgres.SQL[name], arguments(name, MOMENTS)) for name in QUESTIONS}
    asked |= {
        f"top {dimension}": (postgres.SQL["top"].replace("{column}", column), arguments("top", MOMENTS))
        for dimension, column in COLUMN_OF.items()
    }
    asked |= {name: (postgres.SQL[name], [*given]) for name, given in COUNTING_AGAIN.items()}
    asked["count"] = (postgres.SQL["count"], [LINKS])
    asked["events"] = (postgres.SQL["events"], ["7", NOON, "", NOON + HOUR, 1000])
    del asked["top"]
    for name, (statement, given) in asked.items():
        plan = await plan_of(server, statement, *given)
        assert tables_read_whole(plan) == [], name
        for step in plan:
            if "Index Name" in step:
                assert "(link_id = " in step["Index Cond"], name
                times = ("(at ", "(day ", "(hour ", "(period ", "ROW(at")
                by_link_alone = step["Index Name"] == "visit_totals_pkey"
                assert by_link_alone or any(time in step["Index Cond"] for time in times), (name, step["Index Cond"])
    assert "Sort" not in {step["Node Type"] for step in await plan_of(server, *_flat(asked["events"]))}


@pytest.mark.parametrize("name", ["forget", "ages", "links"])
async def test_postgresql_finds_the_oldest_and_the_next_without_reading_all(server: Any, name: str) -> None:
    given = {"forget": [NOON, 1000], "ages": [], "links": ["7", 500]}[name]
    plan = await plan_of(server, postgres.SQL[name], *given)
    assert tables_read_whole(plan) == []


def _flat(asked: tuple[str, list[Any]]) -> list[Any]:
    return [asked[0], *asked[1]]


# SQLite


@pytest.fixture
def file(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)) as connection:
        migrate(connection)
        yield connection


SQLITE_LINKS = {
    "links": '["7","8"]',
    "dimensions": '["browser"]',
    "first": 20_000,
    "last": 20_032,
    "first_hour": 480_000,
    "last_hour": 480_768,
    "first_stretch": 625,
    "last_stretch": 626,
    "hours": 24,
    "first_period": 20_000,
    "last_period": 20_032,
}


def test_sqlite_finds_everything_by_link_and_time(file: sqlite3.Connection) -> None:
    asked: dict[str, Any] = {name: arguments(name, MICROSECONDS) for name in ("totals", "series")}
    asked |= {name: SQLITE_LINKS for name in COUNTING_AGAIN if name.startswith(("clear", "add_up"))}
    asked["all_of"] = SQLITE_LINKS | {"start": MICROSECONDS[0], "end": MICROSECONDS[1]}
    asked["how_many"] = asked["all_of"] | {"limit": 10}
    asked["events"] = {"link_id": "7", "at": MICROSECONDS[0], "id": "", "end": MICROSECONDS[1], "limit": 10}
    statements = [(sqlite.SQL[name], given) for name, given in asked.items()]
    top = sqlite.SQL["top"]
    statements += [(top.replace("{column}", column), arguments("top", MICROSECONDS)) for column in COLUMN_OF.values()]
    for statement, given in statements:
        steps = [row[3] for row in file.execute(f"explain query plan {statement}", given)]
        looked_up = [step for step in steps if step.startswith("SEARCH visit")]
        assert looked_up
        assert all("(link_id=? AND " in step for step in looked_up), steps
        assert all(">" in step or "<" in step or "visitor=?" in step for step in looked_up), steps
        assert [step for step in steps if step.startswith("SCAN visit")] == []
    assert "TEMP B-TREE" not in str(
        file.execute(f"explain query plan {sqlite.SQL['events']}", asked["events"]).fetchall()
    )


@pytest.mark.parametrize("name", ["count", "old", "ages", "links", "known"])
def test_sqlite_finds_the_rest_by_an_index(file: sqlite3.Connection, name: str) -> None:
    given = SQLITE_LINKS | {"before": 1, "limit": 10, "after": "7", "ids": "[]"}
    steps = [row[3] for row in file.execute(f"explain query plan {sqlite.SQL[name]}", given)]
    assert any("USING" in step for step in steps)
    assert [step for step in steps if step.startswith("SCAN visit") and "INDEX" not in step] == []
