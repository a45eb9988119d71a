"""The page commit on PostgreSQL."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import xxhash

from waypost.adapters.postgres import jobs
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.importing.pages import Committed
from waypost.importing.source import Page
from waypost.scaling.jobs.job import Done, Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore

SQL = load_queries(__package__, "pages.sql")


class PostgresPageStore:
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def now(self) -> datetime:
        return await _now(self._database)

    async def begin(self, lease: Lease) -> Lease | None:
        return lease

    async def commit(
        self, lease: Lease, page: Page, *, requested_at: datetime, counted: Mapping[str, int]
    ) -> Committed:
        rows = _Rows(page)
        async with self._database.transaction() as tx:
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            held = await tx.fetch(SQL["hold_job"], lease.job_id, lease.fence, page.cursor, jobs.encode(counted))
            if not held:
                raise jobs.lost(lease)
            changes = await rows.write(tx, lease.shard, requested_at)
            if page.last:
                await tx.fetch(jobs.SQL["complete"], *jobs.acks([Done(lease, changes)]))
            else:
                await tx.fetch(jobs.SQL["checkpoint"], lease.job_id, lease.fence, page.cursor, jobs.encode(changes))
        return Committed(changes, ended=page.last)


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
        return None if rows[0]["done"] else msgspec.structs.replace(lease, cursor=rows[0]["cursor"])

    async def commit(
        self, lease: Lease, page: Page, *, requested_at: datetime, counted: Mapping[str, int]
    ) -> Committed:
        rows = _Rows(page)
        async with self._database.transaction() as tx:
            if not await tx.fetch(SQL["hold_shard"], lease.shard, lease.fence):
                raise _outdated(lease)
            changes = await rows.write(tx, lease.shard, requested_at)
            await tx.execute(SQL["move_shard"], lease.shard, page.cursor, page.last)
        # A kill in between loses counters at most: the next holder begins where the shard's row says.
        total = Counter(counted)
        total.update(changes)
        await self._jobs.checkpoint(lease, cursor=page.cursor, counted=total)
        return Committed(changes, ended=False)


class _Rows:
    """A page in columns, made before the transaction, in which others may be waiting for us."""

    def __init__(self, page: Page) -> None:
        self._fetched = len(page.fetched)
        self._rejected = len(page.rejects)
        self._places = _places(page)
        self._rejects = _rejects(page)

    async def write(self, tx: Any, shard: str, requested_at: datetime) -> Counter[str]:
        """Add and change places and keep rejects; says how many were what."""
        changes = Counter(rejected=self._rejected)
        if self._fetched:
            row = await tx.fetchrow(SQL["write"], *self._places, requested_at)
            changes.update(added=row["added"], changed=row["changed"])
            changes["unchanged"] = self._fetched - row["added"] - row["changed"]
        if self._rejected:
            await tx.execute(SQL["reject"], shard, *self._rejects)
        return changes


def _places(page: Page) -> tuple[Sequence[object], ...]:
    """Columns for the statement that writes places; of several records for one place the last counts."""
    last = {fetched.place.external_id: fetched for fetched in page.fetched}
    encoded = [msgspec.json.encode(fetched.place) for fetched in last.values()]
    records = [fetched.record for fetched in last.values()]
    return (
        list(last),
        [fetched.place.id for fetched in last.values()],
        [place.decode() for place in encoded],
        records,
        [xxhash.xxh3_128_digest(place + b"\n" + record) for place, record in zip(encoded, records, strict=True)],
    )


def _rejects(page: Page) -> tuple[Sequence[object], ...]:
    """Columns for the statement that keeps rejects, each record once."""
    once = {xxhash.xxh3_128_digest(reject.record): reject for reject in page.rejects}
    return (
        list(once),
        [reject.record for reject in once.values()],
        [jobs.storable(reject.reason) for reject in once.values()],
    )


async def _now(database: PostgresDatabase) -> datetime:
    [row] = await database.fetch(SQL["now"])
    now: datetime = row["now"]
    return now


def _outdated(lease: Lease) -> LeaseLost:
    return LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is older than what the store has seen")
