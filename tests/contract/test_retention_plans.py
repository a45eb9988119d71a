"""Forgetting, and asking for neighbours, read what they need and no more, however much there is."""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from pymongo import AsyncMongoClient

from support.job_store_mongodb import migrated_database, open_database
from support.job_store_postgres import clean_database
from support.mongodb_commands import Commands
from support.postgres_plans import indexes_in, plan_of, tables_read_whole
from waypost.adapters.mongodb import database as mongo_database
from waypost.adapters.mongodb.imports import MongoImportStore
from waypost.adapters.mongodb.jobs import MongoJobStore
from waypost.adapters.mongodb.outbox import MongoOutbox
from waypost.adapters.postgres import imports as postgres_imports
from waypost.adapters.postgres import jobs as postgres_jobs
from waypost.adapters.postgres import outbox as postgres_outbox
from waypost.adapters.postgres import page_writing
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite import imports as sqlite_imports
from waypost.adapters.sqlite import jobs as sqlite_jobs
from waypost.adapters.sqlite import outbox as sqlite_outbox
from waypost.adapters.sqlite.migrations import migrate

pytestmark = pytest.mark.anyio

MONTH = 30 * 86400.0
MANY = 20_000
MARKS = "01890a5d-ac96-774b-bcce-b302099a8057"
# One in a hundred is not done, and each country has as many.
FILL_POSTGRES = f"""
    insert into shards (shard, fence, done, seen_at)
    select 'ocm/country:' || number % 100 || '/window:' || number, number, number / 100 % 100 <> 0, now()
    from generate_series(1, {MANY}) as number;
    insert into answers select number, '{{}}', now() from generate_series(1, {MANY}) as number;
    insert into removals select number, '', 1, 1, now() from generate_series(1, {MANY}) as number;
    insert into rejects (shard, record_hash, record, reason, seen_at)
    select number, 'x', '', '', now() from generate_series(1, {MANY}) as number;
    insert into outbox (id, name, subject, occurred_at, data)
    select gen_random_uuid(), '', '', now(), '' from generate_series(1, {MANY}) as number;
    insert into jobs (id, shard, status, not_before, created_at, finished_at)
    select gen_random_uuid(), number, 'done', now(), now(), now() from generate_series(1, {MANY}) as number;
    insert into passes select number, '{{}}', now() from generate_series(1, {MANY}) as number;
    insert into candidates select number % 10, number, now() from generate_series(1, {MANY}) as number;
    insert into marks select '{MARKS}', number, 1 from generate_series(1, {MANY}) as number;
    insert into imports select number, '', '', 'done', now(), now() from generate_series(1, {MANY}) as number;
    analyze imports, shards, answers, removals, rejects, outbox, jobs, passes, candidates, marks;
"""


@pytest.fixture
async def server() -> AsyncIterator[Any]:
    async with clean_database() as url:
        connection = await asyncpg.connect(url)
        await connection.execute(FILL_POSTGRES)
        yield connection
        await connection.close()


async def test_on_postgresql(server: Any) -> None:
    asked: dict[str, tuple[str, list[object]]] = {
        "shards_unfinished": (page_writing.SQL["contended_apart"], ["ocm/country:7/", "/window:1"]),
        "answers_by_age": (postgres_imports.SQL["forget_answers"], [MONTH, 500]),
        "rejects_by_age": (postgres_imports.SQL["forget_rejects"], [MONTH, 500]),
        "removals_by_age": (postgres_imports.SQL["forget_removals"], [MONTH, 500]),
        "imports_by_age": (postgres_imports.SQL["forget_imports"], [MONTH, 500]),
        "shards_pkey": (postgres_imports.SQL["shards_after"], ["ocm/country:7", MONTH, 500]),
        "shards_by_fence": (postgres_imports.SQL["forget_shards"], [["ocm/country:7/window:7"], MONTH]),
        "passes_pkey": (postgres_imports.SQL["passes_after"], ["7", MONTH, 500]),
        "marks_pkey": (postgres_imports.SQL["forget_marks"], [MARKS, 500]),
        "candidates_pkey": (postgres_imports.SQL["forget_candidates"], ["7", 500]),
        "outbox_pkey": (postgres_outbox.SQL["forget_older"], [MONTH, 500]),
        "jobs_ended": (postgres_jobs.SQL["prune"], [MONTH, "done", 500, ""]),
    }
    for mode in ("force_custom_plan", "force_generic_plan"):
        await server.execute(f"set plan_cache_mode = {mode}")
        for index, (statement, arguments) in asked.items():
            plan = await plan_of(server, statement, *arguments)
            assert index in indexes_in(plan), (statement, plan)
            assert tables_read_whole(plan) == [], statement


async def test_postgresql_looks_at_the_unfinished_shards_of_one_country_alone(server: Any) -> None:
    question = f"explain (analyze, format json) {page_writing.SQL['contended_apart']}"
    told = await server.fetchval(question, "ocm/country:7/", "/window:")
    # All of them are of the same window, so that it has to look at each.
    assert f'"Rows Removed by Filter": {MANY // 100 // 100}' in told


@pytest.fixture
def file(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)) as connection:
        migrate(connection)
        yield connection


def test_on_sqlite(file: sqlite3.Connection) -> None:
    rival = {"prefix": "ocm/country:7/", "period": "/window:1", "now": 0}
    old: Mapping[str, object] = {
        "before": 0,
        "limit": 500,
        "status": "done",
        "after": "",
        "shards": "[]",
        "pass": "",
        "shard": "",
        "prefix": "",
    }
    asked = {
        "shards USING INDEX shards_unfinished (shard>? AND shard<?)": (
            load_queries("waypost.adapters.sqlite", "pages.sql")["contended_apart"],
            rival,
        ),
        "answers USING COVERING INDEX answers_by_age (requested_at<?)": (sqlite_imports.SQL["forget_answers"], old),
        "rejects USING COVERING INDEX rejects_by_age (seen_at<?)": (sqlite_imports.SQL["forget_rejects"], old),
        "removals USING COVERING INDEX removals_by_age (judged_at<?)": (sqlite_imports.SQL["forget_removals"], old),
        "imports USING INDEX imports_by_age (finished_at<?)": (sqlite_imports.SQL["forget_imports"], old),
        "shards USING PRIMARY KEY (shard>?)": (sqlite_imports.SQL["shards_after"], old),
        "shards USING COVERING INDEX shards_by_fence": (sqlite_imports.SQL["forget_shards"], old),
        "passes USING PRIMARY KEY (shard>?)": (sqlite_imports.SQL["passes_after"], old),
        "marks USING PRIMARY KEY (pass=? AND external_id=?)": (sqlite_imports.SQL["forget_marks"], old),
        "candidates USING PRIMARY KEY (shard=?)": (sqlite_imports.SQL["forget_candidates"], old),
        "jobs USING INDEX jobs_ended (status=? AND finished_at<?)": (sqlite_jobs.SQL["prune"], old),
        "outbox USING INTEGER PRIMARY KEY (rowid=?)": (sqlite_outbox.SQL["forget_older"], old),
    }
    for search, (statement, given) in asked.items():
        steps = [row[3] for row in file.execute(f"explain query plan {statement}", given)]
        assert f"SEARCH {search}" in steps, steps
        scanned = [
            step for step in steps if step.startswith(("SCAN shards", "SCAN answers", "SCAN rejects", "SCAN jobs"))
        ]
        assert scanned == [], steps


async def test_on_mongodb(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Commands()
    async with migrated_database() as (url, database):
        plain, now = database.database, await database.now()
        await plain.shards.insert_many([{"_id": f"s{each:05}", "fence": each, "seen_at": now} for each in range(2000)])
        await plain.answers.insert_many([{"_id": str(each), "requested_at": each} for each in range(2000)])
        await plain.removals.insert_many([{"_id": str(each), "judged_at": each} for each in range(2000)])
        await plain.imports.insert_many([{"_id": str(each), "finished_at": each} for each in range(2000)])
        await plain.rejects.insert_many([{"shard": str(each), "seen_at": each} for each in range(2000)])
        await plain.outbox.insert_many([{"_id": str(each), "occurred_at": each} for each in range(2000)])
        monkeypatch.setattr(mongo_database, "AsyncMongoClient", partial(AsyncMongoClient, event_listeners=[heard]))
        async with open_database(url) as listening:
            imports = MongoImportStore(listening)
            assert await imports.forget_answers(older_than=0, limit=10) == 10
            assert await imports.forget_rejects(older_than=0, limit=10) == 10
            assert await imports.forget_removals(older_than=0, limit=10) == 10
            assert await imports.forget_imports(older_than=0, limit=10) == 10
            assert len((await imports.shards_after("", older_than=-60, limit=10)).old) == 10
            assert await imports.forget_shards([f"s{each:05}" for each in (0, 1, 1999)], older_than=-60) == 2
            assert await MongoOutbox(listening).forget_older(older_than=0, limit=10) == 10
            assert await MongoJobStore(listening).prune(older_than=0) == 0
        looks = [command for command in heard.sent if {"find", "delete"} & set(command)]
        for command in looks:
            if command.get("find") in {"counters", "schema"}:
                continue
            kept = ("find", "filter", "projection", "sort", "limit", "hint", "delete", "deletes")
            asked = {name: value for name, value in command.items() if name in kept}
            told = await plain.command("explain", asked, verbosity="executionStats")
            assert "COLLSCAN" not in str(told), asked
            assert told["executionStats"]["totalDocsExamined"] <= 10, asked
            assert told["executionStats"]["totalKeysExamined"] <= 12, asked
