"""Jobs and leases on PostgreSQL."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import StoreTrouble
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import Done, Failure, Job, Lease, LeaseLost, NewJob, Renewed, Status, Tally
from waypost.scaling.jobs.store import Capabilities

SQL = load_queries(__package__, "jobs.sql")
CLAIM = SQL["claim"].replace("{due}", SQL["due"]).replace("{wanted}", SQL["wanted"])
CLAIM_IN_GROUP = SQL["claim"].replace("{due}", SQL["due_in_group"]).replace("{wanted}", SQL["wanted_in_group"])

_POLL_SECONDS = 0.25
_BACKLOG_SECONDS = 1.0
# For statements that may touch every job there is.
_BULK_SECONDS = 120.0
# How many jobs are forgotten at once: few enough that nobody waits.
_BITE = 500
# Jobs that are cancelled in one transaction, and where to begin.
_AT_ONCE = 1000
_FIRST_ID = uuid.UUID(int=0)
_counters = msgspec.json.Decoder(dict[str, int])


class PostgresJobStore:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._wakeups = database.listen("waypost_jobs") if database.hears else None
        # Since when claims have been filled by what is due.
        self._full_since: float | None = None
        self.capabilities = Capabilities(notifies=database.hears, durable=True)

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        if not jobs:
            return 0
        new, shards = _new(jobs), list({job.shard for job in jobs})
        added = 0
        if group is None:
            while True:
                [row] = await self._database.fetch(SQL["add"], *new, timeout=_BULK_SECONDS)
                added += int(row["added"])
                if added == len(shards):
                    return added
                [again] = await self._database.fetch(SQL["add_again"], shards, timeout=_BULK_SECONDS)
                added += int(again["added"])
                # One that was cancelled may have been pruned before it could be wanted again; then it is added again.
                [row] = await self._database.fetch(SQL["count_present"], shards, timeout=_BULK_SECONDS)
                if row["present"] == len(shards):
                    return added
        async with self._database.transaction() as tx:
            while True:
                added += int(await tx.fetchval(SQL["add"], *new, timeout=_BULK_SECONDS))
                # Not in the same statement: that would not see what another process added in the meantime.
                await tx.execute(SQL["join_group"], group, shards, timeout=_BULK_SECONDS)
                added += int(await tx.fetchval(SQL["add_again"], shards, timeout=_BULK_SECONDS))
                # As above; what is there is locked by now.
                if await tx.fetchval(SQL["count_present"], shards, timeout=_BULK_SECONDS) == len(shards):
                    return added

    async def cancel(self, group: str) -> int:
        """Cancels a thousand jobs at a time, so that nobody has to wait for long.

        A batch that waited for a row while it holds others could deadlock with the batch that completes them, or with
        a process that enqueues them. So it passes over what is locked, and each of those is waited for alone.
        """
        cancelled, after = 0, _FIRST_ID
        while True:
            held, ended = await self._cancel_some(group, after)
            cancelled += ended
            if held:
                after = held[-1]
            elif busy := await self._database.fetch(SQL["first_waited_for"], group, timeout=_BULK_SECONDS):
                held, ended = await self._cancel_some(group, _FIRST_ID, awaited=busy[0]["id"])
                cancelled, after = cancelled + ended, _FIRST_ID
            else:
                return cancelled

    async def _cancel_some(
        self, group: str, after: uuid.UUID, *, awaited: uuid.UUID | None = None
    ) -> tuple[list[uuid.UUID], int]:
        """The group leaves jobs from an id on; returns which, and how many of them are cancelled now."""
        async with self._database.transaction() as tx:
            if awaited is not None:
                await tx.execute(SQL["await"], group, awaited, timeout=_BULK_SECONDS)
            rows = await tx.fetch(SQL["hold_waited_for"], group, after, _AT_ONCE, timeout=_BULK_SECONDS)
            held = [row["id"] for row in rows]
            if not held:
                return [], 0
            await tx.execute(SQL["leave"], group, held)
            # Not in the same statement as any of these: only now that they are locked can no group begin to want them.
            return held, int(await tx.fetchval(SQL["cancel"], held))

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None = None
    ) -> Sequence[Lease]:
        if self._wakeups:
            self._wakeups.forget()
        leases: list[Lease] = []
        asked = (owner, lease, max_vanished, group)
        try:
            if self._expired_wait_too_long():
                await self._claim(leases, limit, *asked, only_expired=True)
            if len(leases) < limit:
                await self._claim(leases, limit, *asked, only_expired=False)
        except StoreTrouble:
            # What is leased by now would have no holder until it expires. The next claim meets the trouble again.
            if not leases:
                raise
        if len(leases) < limit:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = monotonic()
        return leases

    def _expired_wait_too_long(self) -> bool:
        """A claim comes to expired jobs only if there is room after the due ones: it has to read every lease there is.

        So while there is always more to do than fits, it has to be asked for expired ones now and then.
        """
        if self._full_since is None or monotonic() < self._full_since + _BACKLOG_SECONDS:
            return False
        self._full_since = None
        return True

    async def _claim(
        self,
        leases: list[Lease],
        limit: int,
        owner: str,
        lease: float,
        max_vanished: int,
        group: str | None,
        *,
        only_expired: bool,
    ) -> None:
        """Adds leases until there are as many as the limit, or no more jobs."""
        sql = CLAIM if group is None else CLAIM_IN_GROUP
        buried = 1
        while buried and len(leases) < limit:
            rows = await self._database.fetch(sql, owner, limit - len(leases), lease, max_vanished, group, only_expired)
            found = [Lease(str(row["id"]), *row[1:]) for row in rows if row["shard"] is not None]
            buried = len(rows) - len(found)
            # Fences were drawn in the order of the claim; an update returns its rows in whichever order it met them.
            leases += sorted(found, key=lambda each: each.fence)

    async def wait(self, seconds: float) -> None:
        if self._wakeups:
            await self._wakeups.wait(seconds)
        else:
            await asyncio.sleep(min(seconds, _POLL_SECONDS))

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        ids = [held.job_id for held in leases]
        fences = [held.fence for held in leases]
        kept = {str(row["id"]) for row in await self._database.fetch(SQL["renew"], ids, fences, lease)}
        if len(kept) == len(ids):
            return Renewed(kept)
        # A batch that waited for a row while it holds others could deadlock with the batch that completes them, and
        # the others would wait with it. So it passes over what is locked.
        current = {str(row["id"]) for row in await self._database.fetch(SQL["current"], ids, fences)}
        return Renewed(kept, current - kept)

    async def checkpoint(self, lease: Lease, *, cursor: str | None, counted: Mapping[str, int]) -> None:
        await self._change(SQL["checkpoint"], lease, cursor, encode(counted))

    async def complete(self, done: Sequence[Done]) -> set[str]:
        return {str(row["id"]) for row in await self._database.fetch(SQL["complete"], *acks(done))} if done else set()

    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        async with self._database.transaction() as tx:
            if not await tx.fetch(SQL["complete"], *acks([Done(lease, counted)])):
                raise lost(lease)
            await add_parts(tx, lease, shards)

    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        await self._change(SQL["fail"], lease, failure.code, storable(failure.message), retry_in, encode(counted))

    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        said = (why.code, storable(why.message)) if why else (None, None)
        await self._change(SQL["release"], lease, delay, encode(counted), *said)

    async def release_owner(self, owner: str, *, max_vanished: int) -> int:
        [row] = await self._database.fetch(SQL["release_owner"], owner, max_vanished)
        return int(row["released"])

    async def raise_fences(self, above: int) -> None:
        if above > 0:
            async with self._database.transaction() as tx:
                await tx.execute(SQL["raise_alone"])
                await tx.execute(SQL["raise_fences"], above)

    async def revive(self, shards: Collection[str] | None = None) -> int:
        chosen = None if shards is None else list(shards)
        [row] = await self._database.fetch(SQL["revive"], chosen, timeout=_BULK_SECONDS)
        return int(row["revived"])

    async def redo(self, shards: Collection[str]) -> int:
        [row] = await self._database.fetch(SQL["redo"], list(shards), timeout=_BULK_SECONDS)
        return int(row["redone"])

    async def prune(
        self,
        *,
        older_than: float,
        statuses: Collection[Status] = ("done", "cancelled"),
        prefix: str = "",
        limit: int | None = None,
    ) -> int:
        pruned = 0
        for status in statuses:
            while bite := await self._prune(older_than, status, prefix, _room(pruned, limit)):
                pruned += bite
        return pruned

    async def _prune(self, older_than: float, status: Status, prefix: str, most: int) -> int:
        [row] = await self._database.fetch(SQL["prune"], older_than, status, most, prefix)
        return int(row["pruned"])

    async def get(self, shard_or_id: str) -> Job | None:
        rows = await self._database.fetch(SQL["get"], _id_or_none(shard_or_id), shard_or_id)
        return _to_job(rows[0]) if rows else None

    async def list(
        self, *, status: Status | None = None, group: str | None = None, prefix: str = "", limit: int = 100
    ) -> Sequence[Job]:
        rows = await self._database.fetch(SQL["list"], status, group, prefix, limit, timeout=_BULK_SECONDS)
        return [_to_job(row) for row in rows]

    async def count(self) -> Mapping[Status, int]:
        rows = await self._database.fetch(SQL["count"], timeout=_BULK_SECONDS)
        return {row["status"]: row["jobs"] for row in rows}

    async def tally(self, group: str) -> Tally:
        rows = await self._database.fetch(SQL["tally"], group, timeout=_BULK_SECONDS)
        jobs: Counter[Status] = Counter({row["name"]: row["number"] for row in rows if row["is_status"]})
        return Tally(jobs, Counter({row["name"]: row["number"] for row in rows if not row["is_status"]}))

    async def _change(self, sql: str, lease: Lease, *arguments: object) -> None:
        """One fenced write, whose statement finds nothing when the lease is lost."""
        if not await self._database.fetch(sql, lease.job_id, lease.fence, *arguments):
            raise lost(lease)


async def add_parts(tx: Any, lease: Lease, shards: Sequence[str]) -> None:
    """Adds a pending job for each part of a job that this transaction has ended, wanted by the same groups."""
    await tx.fetch(SQL["add"], *_new([NewJob(shard) for shard in shards]))
    await tx.execute(SQL["inherit_groups"], lease.job_id, shards)
    await tx.fetch(SQL["add_again"], shards)


def storable(text: str) -> str:
    """Replaces the one character that PostgreSQL's text cannot hold; what a provider says may have it."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def lost(lease: Lease) -> LeaseLost:
    return LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is no longer ours")


def _new(jobs: Sequence[NewJob]) -> tuple[Sequence[object], ...]:
    """Columns for the statement that adds jobs; of several for one shard the first counts."""
    first: dict[str, NewJob] = {}
    for job in jobs:
        first.setdefault(job.shard, job)
    return (
        [new_id() for _ in first],
        list(first),
        [job.priority for job in first.values()],
        [job.delay for job in first.values()],
    )


def acks(done: Sequence[Done]) -> tuple[Sequence[object], ...]:
    """Columns for the statement that completes jobs."""
    counted = [encode(ack.counted) for ack in done] if any(ack.counted for ack in done) else []
    return [ack.lease.job_id for ack in done], [ack.lease.fence for ack in done], counted


def encode(counted: Mapping[str, int]) -> str | None:
    """Returns None if nothing was counted: adding that up would cost more than all the rest."""
    something = {name: number for name, number in counted.items() if number}
    return msgspec.json.encode(something).decode() if something else None


def _id_or_none(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _to_job(row: Any) -> Job:
    # By name: a newer release may have added columns.
    known = {name: row[name] for name in Job.__struct_fields__}
    return Job(**{**known, "id": str(row["id"]), "counters": _counters.decode(row["counters"])})


def _room(pruned: int, limit: int | None) -> int:
    return _BITE if limit is None else min(_BITE, limit - pruned)
