"""The page commit on SQLite."""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from waypost.adapters.apart import ShardEnd, tell, what_is_left
from waypost.adapters.page_rows import PageRows, recall
from waypost.adapters.pass_outcomes import Outcome
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite import jobs
from waypost.adapters.sqlite.database import SqliteDatabase, SqliteStore, now_us
from waypost.adapters.sqlite.page_writing import SqlitePageWriting
from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Page, Remembered
from waypost.kernel.clock import from_us
from waypost.scaling.jobs.job import Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore

_SQL = load_queries(__package__, "pages.sql")
_Write = Callable[[SqlitePageWriting], Outcome]
_parts = msgspec.json.Decoder(list[str])


class SqlitePageStore(SqliteStore):
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    async def now(self) -> datetime:
        return from_us(now_us())

    async def begin(self, lease: Lease) -> Lease | None:
        return lease

    async def remembered(self, question: str) -> Remembered | None:
        row = await self._database.read(lambda c: c.execute(_SQL["answer"], {"question": question}).fetchone())
        return recall(row["answer"], from_us(row["requested_at"])) if row else None

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - see the port
        return {}

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        rows = PageRows(page, writing)
        return await self._commit(lease, writing, lambda pages: pages.write(page, rows), page.cursor)

    async def go_on(self, lease: Lease, writing: Writing) -> Committed:
        return await self._commit(lease, writing, SqlitePageWriting.go_on, None)

    async def _commit(self, lease: Lease, writing: Writing, write: _Write, following: str | None) -> Committed:
        def work(tx: sqlite3.Connection) -> Committed:
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            jobs.count(tx, lease, writing.counted)
            outcome = write(SqlitePageWriting(tx, lease, writing, contended="contended"))
            tx.execute(jobs.SQL["move_cursor"], {"cursor": outcome.cursor(following), "id": lease.job_id})
            if outcome.is_over:
                jobs.end_lease(tx, lease, outcome.counted, status="done", now=now_us())
                jobs.add_parts(tx, lease, outcome.state.parts)
            else:
                jobs.count(tx, lease, outcome.counted)
            return outcome.committed(ended=outcome.is_over)

        return await self._database.write(work)


class SqliteApartPageStore(SqlitePageStore):
    """Pages whose jobs are kept in another store. The shard's row here holds fence and cursor and is the authority."""

    def __init__(self, database: SqliteDatabase, job_store: JobStore) -> None:
        super().__init__(database)
        self._jobs = job_store

    async def highest_fence(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["highest_fence"]).fetchone()["fence"]))

    async def begin(self, lease: Lease) -> Lease | None:
        def work(tx: sqlite3.Connection) -> sqlite3.Row:
            _raise_fence(tx, lease)
            row: sqlite3.Row = tx.execute(_SQL["shard"], {"shard": lease.shard}).fetchone()
            return row

        row = await self._database.write(work)
        if row["parts"]:
            # The worker that split it may have been killed before the job store knew.
            await self._jobs.split(lease, _parts.decode(row["parts"]), counted={})
        return None if row["done"] else msgspec.structs.replace(lease, cursor=row["cursor"])

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:
        left = await what_is_left(shards, self._ends)
        if left:
            await self._jobs.raise_fences(await self.highest_fence())
        return left

    async def _ends(self, shards: Collection[str]) -> dict[str, ShardEnd]:
        asked = {"shards": msgspec.json.encode(list(shards)).decode()}
        rows = await self._database.read(lambda c: c.execute(_SQL["ends"], asked).fetchall())
        return {
            row["shard"]: ShardEnd(bool(row["done"]), _parts.decode(row["parts"]) if row["parts"] else ())
            for row in rows
        }

    async def _commit(self, lease: Lease, writing: Writing, write: _Write, following: str | None) -> Committed:
        def work(tx: sqlite3.Connection) -> Outcome:
            _raise_fence(tx, lease)
            outcome = write(SqlitePageWriting(tx, lease, writing, contended="contended_apart"))
            parts = msgspec.json.encode(outcome.state.parts).decode() if outcome.state.parts else None
            moved = {"shard": lease.shard, "cursor": outcome.cursor(following), "done": outcome.is_over}
            tx.execute(_SQL["move_shard"], {**moved, "parts": parts if outcome.is_over else None})
            return outcome

        outcome = await self._database.write(work)
        return await tell(self._jobs, lease, writing, outcome, following)


def _raise_fence(tx: sqlite3.Connection, lease: Lease) -> None:
    held = {"shard": lease.shard, "fence": lease.fence, "now": now_us()}
    if not tx.execute(_SQL["raise_fence"], held).rowcount:
        raise LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is older than what the store has seen")
