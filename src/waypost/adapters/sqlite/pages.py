"""The page commit on SQLite."""

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from waypost.adapters.apart import ShardEnd, tell, what_is_left
from waypost.adapters.page_rows import PageRows, recall
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite import jobs
from waypost.adapters.sqlite.database import SqliteDatabase, from_us, now_us
from waypost.adapters.sqlite.page_writing import PageWriting
from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Page, Remembered
from waypost.scaling.jobs.job import Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore

_SQL = load_queries(__package__, "pages.sql")
_parts = msgspec.json.Decoder(list[str])


class SqlitePageStore:
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def now(self) -> datetime:
        return from_us(now_us())

    async def begin(self, lease: Lease) -> Lease | None:
        return lease

    async def remembered(self, question: str) -> Remembered | None:
        return await _remembered(self._database, question)

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - see the port
        return {}

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        rows = PageRows(page, writing)

        def work(tx: sqlite3.Connection) -> Committed:
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            jobs.count(tx, lease, writing.counted)
            changes = PageWriting(tx, lease.shard, writing, contended="contended").write(page, rows)
            tx.execute(jobs.SQL["move_cursor"], {"cursor": page.cursor, "id": lease.job_id})
            if writing.parts:
                jobs.end_lease(tx, lease, changes, status="done", now=now_us())
                jobs.add_parts(tx, lease, writing.parts)
            elif page.last:
                jobs.end_lease(tx, lease, changes, status="done", now=now_us())
            else:
                jobs.count(tx, lease, changes)
            return Committed(changes, ended=page.last or bool(writing.parts))

        return await self._database.write(work)


class SqliteApartPageStore:
    """Pages whose jobs are kept in another store. The shard's row here holds fence and cursor and is the authority."""

    def __init__(self, database: SqliteDatabase, job_store: JobStore) -> None:
        self._database = database
        self._jobs = job_store

    async def now(self) -> datetime:
        return from_us(now_us())

    async def highest_fence(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["highest_fence"]).fetchone()["fence"]))

    async def begin(self, lease: Lease) -> Lease | None:
        def work(tx: sqlite3.Connection) -> sqlite3.Row:
            _raise_fence(tx, lease)
            row: sqlite3.Row = tx.execute(_SQL["shard"], {"shard": lease.shard}).fetchone()
            return row

        row = await self._database.write(work)
        if row["parts"]:
            # Whoever split it may have been killed before the job store knew.
            await self._jobs.split(lease, _parts.decode(row["parts"]), counted={})
        return None if row["done"] else msgspec.structs.replace(lease, cursor=row["cursor"])

    async def remembered(self, question: str) -> Remembered | None:
        return await _remembered(self._database, question)

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

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        rows = PageRows(page, writing)
        parts = msgspec.json.encode(writing.parts).decode() if writing.parts else None
        ends = page.last or bool(parts)

        def work(tx: sqlite3.Connection) -> Counter[str]:
            _raise_fence(tx, lease)
            changes = PageWriting(tx, lease.shard, writing, contended="contended_apart").write(page, rows)
            tx.execute(_SQL["move_shard"], {"shard": lease.shard, "cursor": page.cursor, "done": ends, "parts": parts})
            return changes

        changes = await self._database.write(work)
        return await tell(self._jobs, lease, page, writing, changes)


async def _remembered(database: SqliteDatabase, question: str) -> Remembered | None:
    row = await database.read(lambda c: c.execute(_SQL["answer"], {"question": question}).fetchone())
    return recall(row["answer"]) if row else None


def _raise_fence(tx: sqlite3.Connection, lease: Lease) -> None:
    held = {"shard": lease.shard, "fence": lease.fence, "now": now_us()}
    if not tx.execute(_SQL["raise_fence"], held).rowcount:
        raise LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is older than what the store has seen")
