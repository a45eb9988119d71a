"""The page commit on PostgreSQL."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from waypost.adapters.apart import ShardEnd, tell, what_is_left
from waypost.adapters.page_rows import PageRows, recall
from waypost.adapters.postgres import jobs
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.postgres.page_writing import SQL, PageWriting
from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Page, Remembered
from waypost.scaling.jobs.job import Done, Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore


class PostgresPageStore:
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def now(self) -> datetime:
        return await _now(self._database)

    async def begin(self, lease: Lease) -> Lease | None:
        return lease

    async def remembered(self, question: str) -> Remembered | None:
        return await _remembered(self._database, question)

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - see the port
        return {}

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        rows = PageRows(page, writing)
        ends = page.last or bool(writing.parts)
        async with self._database.transaction() as tx:
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            counted = jobs.encode(writing.counted)
            if not await tx.fetch(SQL["hold_job"], lease.job_id, lease.fence, page.cursor, counted):
                raise jobs.lost(lease)
            changes = await PageWriting(tx, lease.shard, writing, contended="contended").write(page, rows)
            if ends:
                await tx.fetch(jobs.SQL["complete"], *jobs.acks([Done(lease, changes)]))
                if writing.parts:
                    await jobs.add_parts(tx, lease, writing.parts)
            else:
                await tx.fetch(jobs.SQL["checkpoint"], lease.job_id, lease.fence, page.cursor, jobs.encode(changes))
        return Committed(changes, ended=ends)


class PostgresApartPageStore:
    """Pages whose jobs are kept in another store. The shard's row here holds fence and cursor and is the authority."""

    def __init__(self, database: PostgresDatabase, job_store: JobStore) -> None:
        self._database = database
        self._jobs = job_store

    async def now(self) -> datetime:
        return await _now(self._database)

    async def highest_fence(self) -> int:
        [row] = await self._database.fetch(SQL["highest_fence"])
        return int(row["fence"])

    async def begin(self, lease: Lease) -> Lease | None:
        rows = await self._database.fetch(SQL["hold_shard"], lease.shard, lease.fence)
        if not rows:
            raise _outdated(lease)
        if rows[0]["parts"]:
            # Whoever split it may have been killed before the job store knew.
            await self._jobs.split(lease, rows[0]["parts"], counted={})
        return None if rows[0]["done"] else msgspec.structs.replace(lease, cursor=rows[0]["cursor"])

    async def remembered(self, question: str) -> Remembered | None:
        return await _remembered(self._database, question)

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:
        left = await what_is_left(shards, self._ends)
        if left:
            await self._jobs.raise_fences(await self.highest_fence())
        return left

    async def _ends(self, shards: Collection[str]) -> dict[str, ShardEnd]:
        rows = await self._database.fetch(SQL["ends"], list(shards))
        return {row["shard"]: ShardEnd(row["done"], row["parts"] or ()) for row in rows}

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        rows = PageRows(page, writing)
        ends = page.last or bool(writing.parts)
        async with self._database.transaction() as tx:
            if not await tx.fetch(SQL["hold_shard"], lease.shard, lease.fence):
                raise _outdated(lease)
            changes = await PageWriting(tx, lease.shard, writing, contended="contended_apart").write(page, rows)
            await tx.execute(SQL["move_shard"], lease.shard, page.cursor, ends, writing.parts or None)
        return await tell(self._jobs, lease, page, writing, changes)


async def _remembered(database: PostgresDatabase, question: str) -> Remembered | None:
    rows = await database.fetch(SQL["answer"], question)
    return recall(rows[0]["answer"]) if rows else None


async def _now(database: PostgresDatabase) -> datetime:
    [row] = await database.fetch(SQL["now"])
    now: datetime = row["now"]
    return now


def _outdated(lease: Lease) -> LeaseLost:
    return LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is older than what the store has seen")
