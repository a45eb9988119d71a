"""The page commit on PostgreSQL."""

from collections.abc import Collection
from datetime import datetime

from waypost.adapters.apart import ApartPages, ShardEnd, outdated, tell
from waypost.adapters.page_rows import recall
from waypost.adapters.page_writing import PageCommits, Write
from waypost.adapters.postgres import jobs
from waypost.adapters.postgres.database import PostgresDatabase, PostgresStore
from waypost.adapters.postgres.page_writing import SQL, PostgresPageWriting
from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Remembered
from waypost.scaling.jobs.job import Done, Lease
from waypost.scaling.jobs.store import JobStore


class PostgresPageStore(PageCommits, PostgresStore):
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    async def now(self) -> datetime:
        [row] = await self._database.fetch(SQL["now"])
        now: datetime = row["now"]
        return now

    async def remembered(self, question: str) -> Remembered | None:
        rows = await self._database.fetch(SQL["answer"], question)
        return recall(rows[0]["answer"], rows[0]["requested_at"]) if rows else None

    async def _commit(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Committed:
        async with self._database.transaction() as tx:
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            counted = jobs.encode(writing.counted)
            if not await tx.fetch(SQL["hold_job"], lease.job_id, lease.fence, following, counted):
                raise jobs.lost(lease)
            outcome = await write(PostgresPageWriting(tx, lease, writing, contended="contended"))
            if outcome.is_over:
                await tx.fetch(jobs.SQL["complete"], *jobs.acks([Done(lease, outcome.counted)]))
                if outcome.state.parts:
                    await jobs.add_parts(tx, lease, outcome.state.parts)
            else:
                at = lease.job_id, lease.fence, outcome.cursor(following)
                await tx.fetch(jobs.SQL["checkpoint"], *at, jobs.encode(outcome.counted))
        return outcome.committed(ended=outcome.is_over)


class PostgresApartPageStore(ApartPages, PostgresPageStore):
    def __init__(self, database: PostgresDatabase, job_store: JobStore) -> None:
        super().__init__(database)
        self._jobs = job_store

    async def highest_fence(self) -> int:
        [row] = await self._database.fetch(SQL["highest_fence"])
        return int(row["fence"])

    async def _raise_fence(self, lease: Lease) -> ShardEnd:
        rows = await self._database.fetch(SQL["hold_shard"], lease.shard, lease.fence)
        if not rows:
            raise outdated(lease)
        return ShardEnd(rows[0]["done"], rows[0]["parts"] or (), rows[0]["cursor"])

    async def _ends(self, shards: Collection[str]) -> dict[str, ShardEnd]:
        rows = await self._database.fetch(SQL["ends"], list(shards))
        return {row["shard"]: ShardEnd(row["done"], row["parts"] or ()) for row in rows}

    async def _commit(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Committed:
        async with self._database.transaction() as tx:
            if not await tx.fetch(SQL["hold_shard"], lease.shard, lease.fence):
                raise outdated(lease)
            outcome = await write(PostgresPageWriting(tx, lease, writing, contended="contended_apart"))
            parts = outcome.state.parts if outcome.is_over else ()
            at = outcome.cursor(following), outcome.is_over, list(parts) or None
            await tx.execute(SQL["move_shard"], lease.shard, *at)
        return await tell(self._jobs, lease, writing, outcome, following)
