"""Jobs and leases on SQLite."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import get_args

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore, from_us_or_none, now_us, seconds
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import Done, Failure, Job, Lease, LeaseLost, NewJob, Renewed, Status, Tally
from waypost.scaling.jobs.store import Capabilities

SQL = load_queries(__package__, "jobs.sql")
# How many jobs are forgotten at once: few enough that nobody waits.
_BITE = 500

_POLL_SECONDS = 0.25
_TIMES = [each.name for each in msgspec.structs.fields(Job) if datetime in {each.type, *get_args(each.type)}]
_counters = msgspec.json.Decoder(dict[str, int])


class SqliteJobStore(SqliteStore):
    capabilities = Capabilities(notifies=False, durable=True)

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        def work(tx: sqlite3.Connection) -> int:
            added = _add(tx, jobs)
            if group is not None:
                tx.executemany(SQL["join_group"], [{"group": group, "shard": job.shard} for job in jobs])
            return added

        return await self._database.write(work)

    async def cancel(self, group: str) -> int:
        def work(tx: sqlite3.Connection) -> int:
            left = tx.execute(SQL["leave_unfinished"], {"group": group}).fetchall()
            now = now_us()
            return tx.executemany(SQL["cancel"], [{"id": row["job_id"], "now": now} for row in left]).rowcount

        return await self._database.write(work)

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None = None
    ) -> Sequence[Lease]:
        def work(tx: sqlite3.Connection) -> list[Lease]:
            now = now_us()
            tx.execute(SQL["bury"], {"now": now, "max_vanished": max_vanished})
            ids = _claimable(tx, now, limit, group)
            last = tx.execute(SQL["take_fences"], {"count": len(ids)}).fetchone()["last"]
            fences = range(last - len(ids) + 1, last + 1)
            until = now + seconds(lease)
            return [_lease(tx, job_id, owner, until, fence) for job_id, fence in zip(ids, fences, strict=True)]

        return await self._database.write(work)

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        def work(tx: sqlite3.Connection) -> set[str]:
            until = now_us() + seconds(lease)
            return {
                held.job_id
                for held in leases
                if tx.execute(SQL["renew"], {"until": until, "id": held.job_id, "fence": held.fence}).rowcount
            }

        return Renewed(await self._database.write(work))

    async def wait(self, seconds: float) -> None:
        """SQLite does not announce other processes' changes, so this is the poll itself."""
        await asyncio.sleep(min(seconds, _POLL_SECONDS))

    async def checkpoint(self, lease: Lease, *, cursor: str | None, counted: Mapping[str, int]) -> None:
        def work(tx: sqlite3.Connection) -> None:
            count(tx, lease, counted)
            tx.execute(SQL["move_cursor"], {"cursor": cursor, "id": lease.job_id})

        await self._database.write(work)

    async def complete(self, done: Sequence[Done]) -> set[str]:
        def work(tx: sqlite3.Connection) -> set[str]:
            now = now_us()
            kept = set()
            for ack in done:
                with suppress(LeaseLost):
                    end_lease(tx, ack.lease, ack.counted, status="done", now=now)
                    kept.add(ack.lease.job_id)
            return kept

        return await self._database.write(work)

    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        def work(tx: sqlite3.Connection) -> None:
            end_lease(tx, lease, counted, status="done", now=now_us())
            add_parts(tx, lease, shards)

        await self._database.write(work)

    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        def work(tx: sqlite3.Connection) -> None:
            now = now_us()
            if retry_in is None:
                end_lease(tx, lease, counted, status="dead", now=now)
            else:
                end_lease(tx, lease, counted, status="pending", now=now + seconds(retry_in))
            tx.execute(SQL["count_failure"], {"id": lease.job_id})
            _set_error(tx, lease, failure, now)

        await self._database.write(work)

    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        def work(tx: sqlite3.Connection) -> None:
            now = now_us()
            end_lease(tx, lease, counted, status="pending", now=now + seconds(delay))
            tx.execute(SQL["forgive_attempts"], {"id": lease.job_id})
            if why:
                _set_error(tx, lease, why, now)

        await self._database.write(work)

    async def release_owner(self, owner: str, *, max_vanished: int) -> int:
        def work(tx: sqlite3.Connection) -> int:
            left = {"owner": owner, "max_vanished": max_vanished, "now": now_us()}
            return tx.execute(SQL["bury_owned"], left).rowcount + tx.execute(SQL["release_owner"], left).rowcount

        return await self._database.write(work)

    async def raise_fences(self, above: int) -> None:
        await self._change(SQL["raise_fences"], {"above": above})

    async def revive(self, shards: Collection[str] | None = None) -> int:
        chosen = None if shards is None else msgspec.json.encode(list(shards)).decode()
        return await self._change(SQL["revive"], {"now": now_us(), "shards": chosen})

    async def redo(self, shards: Collection[str]) -> int:
        again = {"now": now_us(), "shards": msgspec.json.encode(list(shards)).decode()}
        return await self._change(SQL["redo"], again)

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
            old = {"before": now_us() - seconds(older_than), "status": status, "prefix": prefix}
            while bite := await self._database.write(partial(_prune, {**old, "limit": _room(pruned, limit)})):
                pruned += bite
        return pruned

    async def get(self, shard_or_id: str) -> Job | None:
        row = await self._database.read(lambda c: c.execute(SQL["get"], {"name": shard_or_id}).fetchone())
        return _to_job(row) if row else None

    async def list(
        self, *, status: Status | None = None, group: str | None = None, prefix: str = "", limit: int = 100
    ) -> Sequence[Job]:
        wanted = {"status": status, "group": group, "prefix": prefix, "limit": limit}
        return await self._database.read(lambda c: [_to_job(row) for row in c.execute(SQL["list"], wanted)])

    async def count(self) -> Mapping[Status, int]:
        rows = await self._database.read(lambda c: c.execute(SQL["count"]).fetchall())
        return {row["status"]: row["jobs"] for row in rows}

    async def tally(self, group: str) -> Tally:
        jobs: Counter[Status] = Counter()
        counters: Counter[str] = Counter()
        for row in await self._rows(SQL["tally"], {"group": group}):
            jobs[row["status"]] += 1
            counters.update(_counters.decode(row["counters"]))
            counters.subtract(_counters.decode(row["counters_before"]))
        return Tally(jobs, counters)


def _add(tx: sqlite3.Connection, jobs: Sequence[NewJob]) -> int:
    now = now_us()
    return tx.executemany(
        SQL["add"],
        [
            {
                "id": str(new_id()),
                "shard": job.shard,
                "priority": job.priority,
                "not_before": now + seconds(job.delay),
                "now": now,
            }
            for job in jobs
        ],
    ).rowcount


def add_parts(tx: sqlite3.Connection, lease: Lease, shards: Sequence[str]) -> None:
    """Adds a pending job for each part of a job that this transaction has ended, wanted by the same groups."""
    _add(tx, [NewJob(shard) for shard in shards])
    tx.executemany(SQL["inherit_groups"], [{"shard": shard, "id": lease.job_id} for shard in shards])


def count(tx: sqlite3.Connection, lease: Lease, counted: Mapping[str, int]) -> None:
    """The fenced write with which every change of a leased job begins. Raises LeaseLost."""
    row = tx.execute(SQL["counters"], {"id": lease.job_id, "fence": lease.fence}).fetchone()
    if row is None:
        raise LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is no longer ours")
    total = Counter(_counters.decode(row["counters"]))
    total.update(counted)
    tx.execute(SQL["set_counters"], {"counters": msgspec.json.encode(+total).decode(), "id": lease.job_id})


def end_lease(tx: sqlite3.Connection, lease: Lease, counted: Mapping[str, int], *, status: Status, now: int) -> None:
    """Moves a job from leased to another status, under the fence; `now` is when it ended or may be claimed again."""
    count(tx, lease, counted)
    finished_at = None if status == "pending" else now
    ended = {"status": status, "not_before": now, "finished_at": finished_at, "id": lease.job_id}
    tx.execute(SQL["end_lease"], ended)


def _set_error(tx: sqlite3.Connection, lease: Lease, failure: Failure, now: int) -> None:
    error = {"code": failure.code, "message": failure.message, "now": now, "id": lease.job_id}
    tx.execute(SQL["set_error"], error)


def _claimable(tx: sqlite3.Connection, now: int, limit: int, group: str | None) -> Sequence[str]:
    wanted = {"now": now, "limit": limit, "group": group}
    expired = [row["id"] for row in tx.execute(SQL["expired"], wanted)]
    due = tx.execute(SQL["due"], {**wanted, "limit": limit - len(expired)})
    return expired + [row["id"] for row in due]


def _lease(tx: sqlite3.Connection, job_id: str, owner: str, until: int, fence: int) -> Lease:
    row = tx.execute(SQL["lease"], {"owner": owner, "until": until, "fence": fence, "id": job_id}).fetchone()
    return Lease(job_id, row["shard"], fence, row["attempts"], row["cursor"], row["failures"])


def _to_job(row: sqlite3.Row) -> Job:
    # By name: a newer release may have added columns.
    known = {name: row[name] for name in Job.__struct_fields__}
    times = {name: from_us_or_none(row[name]) for name in _TIMES}
    return Job(**{**known, **times, "counters": _counters.decode(row["counters"])})


def _room(pruned: int, limit: int | None) -> int:
    return _BITE if limit is None else min(_BITE, limit - pruned)


def _prune(old: Mapping[str, object], tx: sqlite3.Connection) -> int:
    return tx.execute(SQL["prune"], old).rowcount
