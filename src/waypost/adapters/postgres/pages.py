"""The page commit on PostgreSQL."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from waypost.adapters.apart import ShardEnd, tell, what_is_left
from waypost.adapters.page_rows import PageRows, recall
from waypost.adapters.pass_outcomes import Outcome
from waypost.adapters.postgres import jobs
from waypost.adapters.postgres.database import PostgresDatabase, PostgresStore
from waypost.adapters.postgres.page_writing import SQL, PostgresPageWriting
from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Page, Remembered
from waypost.scaling.jobs.job import Done, Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore

_Write = Callable[[PostgresPageWriting], Awaitable[Outcome]]


class PostgresPageStore(PostgresStore):
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    async def now(self) -> datetime:
        [row] = await self._database.fetch(SQL["now"])
        now: datetime = row["now"]
        return now

    async def begin(self, lease: Lease) -> Lease | None:
        return lease

    async def remembered(self, question: str) -> Remembered | None:
        rows = await self._database.fetch(SQL["answer"], question)
        return recall(rows[0]["answer"], rows[0]["requested_at"]) if rows else None

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - see the port
        return {}

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        rows = PageRows(page, writing)
        return await self._commit(lease, writing, lambda pages: pages.write(page, rows), page.cursor)

    async def go_on(self, lease: Lease, writing: Writing) -> Committed:
        return await self._commit(lease, writing, PostgresPageWriting.go_on, None)

    async def _commit(self, lease: Lease, writing: Writing, write: _Write, following: str | None) -> Committed:
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


class PostgresApartPageStore(PostgresPageStore):
    """Pages whose jobs are kept in another store. The shard's row here holds fence and cursor and is the authority."""

    def __init__(self, database: PostgresDatabase, job_store: JobStore) -> None:
        super().__init__(database)
        self._jobs = job_store

    async def highest_fence(self) -> int:
        [row] = await self._database.fetch(SQL["highest_fence"])
        return int(row["fence"])

    async def begin(self, lease: Lease) -> Lease | None:
        rows = await self._database.fetch(SQL["hold_shard"], lease.shard, lease.fence)
        if not rows:
            raise _outdated(lease)
        if rows[0]["parts"]:
            # The worker that split it may have been killed before the job store knew.
            await self._jobs.split(lease, rows[0]["parts"], counted={})
        return None if rows[0]["done"] else msgspec.structs.replace(lease, cursor=rows[0]["cursor"])

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:
        left = await what_is_left(shards, self._ends)
        if left:
            await self._jobs.raise_fences(await self.highest_fence())
        return left

    async def _ends(self, shards: Collection[str]) -> dict[str, ShardEnd]:
        rows = await self._database.fetch(SQL["ends"], list(shards))
        return {row["shard"]: ShardEnd(row["done"], row["parts"] or ()) for row in rows}

    async def _commit(self, lease: Lease, writing: Writing, write: _Write, following: str | None) -> Committed:
        async with self._database.transaction() as tx:
            if not await tx.fetch(SQL["hold_shard"], lease.shard, lease.fence):
                raise _outdated(lease)
            outcome = await write(PostgresPageWriting(tx, lease, writing, contended="contended_apart"))
            parts = outcome.state.parts if outcome.is_over else ()
            at = outcome.cursor(following), outcome.is_over, list(parts) or None
            await tx.execute(SQL["move_shard"], lease.shard, *at)
        return await tell(self._jobs, lease, writing, outcome, following)


def _outdated(lease: Lease) -> LeaseLost:
    return LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is older than what the store has seen")
