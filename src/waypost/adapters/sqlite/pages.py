"""The page commit on SQLite."""

import sqlite3
from collections.abc import Collection, Coroutine
from datetime import datetime
from typing import Any

import msgspec

from waypost.adapters.apart import ApartPages, ShardEnd, outdated, tell
from waypost.adapters.page_rows import recall
from waypost.adapters.page_writing import PageCommits, Write
from waypost.adapters.pass_outcomes import Outcome
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite import jobs
from waypost.adapters.sqlite.database import SqliteDatabase, SqliteStore, now_us
from waypost.adapters.sqlite.page_writing import SqlitePageWriting
from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Remembered
from waypost.kernel.clock import from_us
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.store import JobStore

_SQL = load_queries(__package__, "pages.sql")
_parts = msgspec.json.Decoder(list[str])


class SqlitePageStore(PageCommits, SqliteStore):
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    async def now(self) -> datetime:
        return from_us(now_us())

    async def remembered(self, question: str) -> Remembered | None:
        row = await self._database.read(lambda c: c.execute(_SQL["answer"], {"question": question}).fetchone())
        return recall(row["answer"], from_us(row["requested_at"])) if row else None

    async def _commit(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Committed:
        def work(tx: sqlite3.Connection) -> Committed:
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            jobs.count(tx, lease, writing.counted)
            outcome = _at_once(write(SqlitePageWriting(tx, lease, writing, contended="contended")))
            tx.execute(jobs.SQL["move_cursor"], {"cursor": outcome.cursor(following), "id": lease.job_id})
            if outcome.is_over:
                jobs.end_lease(tx, lease, outcome.counted, status="done", now=now_us())
                jobs.add_parts(tx, lease, outcome.state.parts)
            else:
                jobs.count(tx, lease, outcome.counted)
            return outcome.committed(ended=outcome.is_over)

        return await self._database.write(work)


class SqliteApartPageStore(ApartPages, SqlitePageStore):
    def __init__(self, database: SqliteDatabase, job_store: JobStore) -> None:
        super().__init__(database)
        self._jobs = job_store

    async def highest_fence(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["highest_fence"]).fetchone()["fence"]))

    async def _raise_fence(self, lease: Lease) -> ShardEnd:
        def work(tx: sqlite3.Connection) -> sqlite3.Row:
            _raise_fence(tx, lease)
            row: sqlite3.Row = tx.execute(_SQL["shard"], {"shard": lease.shard}).fetchone()
            return row

        row = await self._database.write(work)
        return ShardEnd(bool(row["done"]), _parts.decode(row["parts"]) if row["parts"] else (), row["cursor"])

    async def _ends(self, shards: Collection[str]) -> dict[str, ShardEnd]:
        asked = {"shards": msgspec.json.encode(list(shards)).decode()}
        rows = await self._rows(_SQL["ends"], asked)
        return {
            row["shard"]: ShardEnd(bool(row["done"]), _parts.decode(row["parts"]) if row["parts"] else ())
            for row in rows
        }

    async def _commit(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Committed:
        def work(tx: sqlite3.Connection) -> Outcome:
            _raise_fence(tx, lease)
            outcome = _at_once(write(SqlitePageWriting(tx, lease, writing, contended="contended_apart")))
            parts = msgspec.json.encode(outcome.state.parts).decode() if outcome.state.parts else None
            moved = {"shard": lease.shard, "cursor": outcome.cursor(following), "done": outcome.is_over}
            tx.execute(_SQL["move_shard"], {**moved, "parts": parts if outcome.is_over else None})
            return outcome

        outcome = await self._database.write(work)
        return await tell(self._jobs, lease, writing, outcome, following)


def _raise_fence(tx: sqlite3.Connection, lease: Lease) -> None:
    held = {"shard": lease.shard, "fence": lease.fence, "now": now_us()}
    if not tx.execute(_SQL["raise_fence"], held).rowcount:
        raise outdated(lease)


def _at_once(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Runs what waits for nothing to its end, in the thread that has the transaction."""
    try:
        work.send(None)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    raise AssertionError("a page of SQLite's waits for nothing")
