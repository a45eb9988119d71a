"""A job store in memory: the plainest one that obeys the contract, for tests that need no other."""

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from waypost.kernel.clock import utc_now
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import UNFINISHED, Done, Failure, Job, Lease, LeaseLost, NewJob, Renewed, Status, Tally
from waypost.scaling.jobs.store import Capabilities

_POLL_SECONDS = 0.05


class MemoryJobStore:
    capabilities = Capabilities(notifies=False, durable=False)

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self._by_shard: dict[str, str] = {}
        # group → job id → what the job had counted when the group began to wait for it
        self._groups: dict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
        # group → ids of those jobs that it has cancelled
        self._cancelled: dict[str, set[str]] = defaultdict(set)
        self._fence = 0
        # Leases are renewed from another thread.
        self._lock = threading.Lock()

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        with self._lock:
            added = sum(self._add(job) for job in jobs)
            for job in jobs:
                if group is not None:
                    self._join(group, self._by_shard[job.shard])
            return added

    async def cancel(self, group: str) -> int:
        with self._lock:
            now = utc_now()
            unfinished = [key for key in self._waiting(group) if self.jobs[key].status in UNFINISHED]
            self._cancelled[group].update(unfinished)
            unwanted = [self.jobs[key] for key in unfinished if not self._who_wants(key)]
            for job in unwanted:
                self.jobs[job.id] = replace(
                    job, status="cancelled", lease_owner=None, lease_until=None, finished_at=now
                )
            return len(unwanted)

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None = None
    ) -> Sequence[Lease]:
        with self._lock:
            now = utc_now()
            self._bury_the_exhausted(now, max_vanished)
            wanted = self.jobs.values() if group is None else [self.jobs[key] for key in self._waiting(group)]
            until = now + timedelta(seconds=lease)
            return [self._lease(job, owner, until) for job in _claimable(wanted, now)[:limit]]

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, _POLL_SECONDS))

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        with self._lock:
            until = utc_now() + timedelta(seconds=lease)
            kept = {held.job_id for held in leases if self._is_current(held)}
            for key in kept:
                self.jobs[key] = replace(self.jobs[key], lease_until=until)
            return Renewed(kept)

    async def checkpoint(self, lease: Lease, *, cursor: str | None, counted: Mapping[str, int]) -> None:
        with self._lock:
            self.jobs[lease.job_id] = replace(self._counted(lease, counted), cursor=cursor, attempts=0, failures=0)

    async def complete(self, done: Sequence[Done]) -> set[str]:
        with self._lock:
            now = utc_now()
            kept = [ack for ack in done if self._is_current(ack.lease)]
            for ack in kept:
                self._end(ack.lease, ack.counted, "done", now)
            return {ack.lease.job_id for ack in kept}

    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        with self._lock:
            self._end(lease, counted, "done", utc_now())
            for shard in shards:
                self._add(NewJob(shard))
                for group in self._who_wants(lease.job_id):
                    self._join(group, self._by_shard[shard])

    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        with self._lock:
            now = utc_now()
            self._end(
                lease,
                counted,
                "dead" if retry_in is None else "pending",
                now,
                not_before=now + timedelta(seconds=retry_in or 0),
            )
            job = self.jobs[lease.job_id]
            self.jobs[job.id] = replace(job, failures=job.failures + 1)
            self._set_error(job.id, failure, now)

    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        with self._lock:
            now = utc_now()
            self._end(lease, counted, "pending", now, not_before=now + timedelta(seconds=delay))
            job = self.jobs[lease.job_id]
            self.jobs[job.id] = replace(job, attempts=0)
            if why:
                self._set_error(job.id, why, now)

    async def release_owner(self, owner: str, *, max_vanished: int) -> int:
        with self._lock:
            left = [job for job in self.jobs.values() if job.status == "leased" and job.lease_owner == owner]
            for job in left:
                self.jobs[job.id] = (
                    _buried(job, utc_now())
                    if job.attempts >= max_vanished
                    else replace(job, status="pending", lease_owner=None, lease_until=None)
                )
            return len(left)

    async def raise_fences(self, above: int) -> None:
        with self._lock:
            self._fence = max(self._fence, above)

    async def revive(self, shards: Collection[str] | None = None) -> int:
        with self._lock:
            dead = [
                job for job in self.jobs.values() if job.status == "dead" and (shards is None or job.shard in shards)
            ]
            for job in dead:
                self.jobs[job.id] = replace(
                    job, status="pending", attempts=0, failures=0, not_before=utc_now(), finished_at=None
                )
            return len(dead)

    async def redo(self, shards: Collection[str]) -> int:
        with self._lock:
            done = [job for job in self.jobs.values() if job.status == "done" and job.shard in shards]
            for job in done:
                self.jobs[job.id] = replace(
                    job, status="pending", attempts=0, failures=0, cursor=None, not_before=utc_now(), finished_at=None
                )
            return len(done)

    async def prune(
        self,
        *,
        older_than: float,
        statuses: Collection[Status] = ("done", "cancelled"),
        prefix: str = "",
        limit: int | None = None,
    ) -> int:
        with self._lock:
            before = utc_now() - timedelta(seconds=older_than)
            old = [
                job
                for job in self.jobs.values()
                if job.status in statuses and job.finished_at is not None and job.finished_at < before
                if job.shard.startswith(prefix)
            ][:limit]
            for job in old:
                del self.jobs[job.id], self._by_shard[job.shard]
                for group, members in self._groups.items():
                    members.pop(job.id, None)
                    self._cancelled[group].discard(job.id)
            return len(old)

    async def get(self, shard_or_id: str) -> Job | None:
        with self._lock:
            return self.jobs.get(self._by_shard.get(shard_or_id, shard_or_id))

    async def list(
        self, *, status: Status | None = None, group: str | None = None, prefix: str = "", limit: int = 100
    ) -> Sequence[Job]:
        with self._lock:
            return [
                job
                for job in self.jobs.values()
                if status in {None, job.status}
                and job.shard.startswith(prefix)
                and (group is None or job.id in self._groups[group])
            ][:limit]

    async def count(self) -> Mapping[Status, int]:
        with self._lock:
            return Counter(job.status for job in self.jobs.values())

    async def tally(self, group: str) -> Tally:
        with self._lock:
            members = self._groups[group]
            counters: Counter[str] = Counter()
            for key, before in members.items():
                counters.update(self.jobs[key].counters)
                counters.subtract(before)
            return Tally(Counter(self._status_for(group, key) for key in members), counters)

    def _set_error(self, job_id: str, failure: Failure, now: datetime) -> None:
        self.jobs[job_id] = replace(
            self.jobs[job_id],
            last_error_code=failure.code,
            last_error_message=failure.message,
            last_error_at=now,
        )

    def _add(self, job: NewJob) -> bool:
        now = utc_now()
        known = self.jobs.get(self._by_shard.get(job.shard, ""))
        if known is None:
            fresh = _fresh(job, now)
            self.jobs[fresh.id], self._by_shard[job.shard] = fresh, fresh.id
        elif known.status == "cancelled":
            self.jobs[known.id] = replace(known, status="pending", finished_at=None, attempts=0, failures=0)
        else:
            return False
        return True

    def _join(self, group: str, job_id: str) -> None:
        self._groups[group].setdefault(job_id, self.jobs[job_id].counters)
        self._cancelled[group].discard(job_id)

    def _waiting(self, group: str) -> Sequence[str]:
        return [key for key in self._groups[group] if key not in self._cancelled[group]]

    def _who_wants(self, job_id: str) -> Sequence[str]:
        return [
            group
            for group, members in self._groups.items()
            if job_id in members and job_id not in self._cancelled[group]
        ]

    def _status_for(self, group: str, job_id: str) -> Status:
        status = self.jobs[job_id].status
        return "cancelled" if status in UNFINISHED and job_id in self._cancelled[group] else status

    def _bury_the_exhausted(self, now: datetime, max_vanished: int) -> None:
        for job in _expired(self.jobs.values(), now):
            if job.attempts >= max_vanished:
                self.jobs[job.id] = _buried(job, now)

    def _lease(self, job: Job, owner: str, until: datetime) -> Lease:
        self._fence += 1
        self.jobs[job.id] = leased = replace(
            job,
            status="leased",
            lease_owner=owner,
            lease_until=until,
            fence=self._fence,
            attempts=job.attempts + 1,
            attempts_total=job.attempts_total + 1,
        )
        return Lease(job.id, job.shard, leased.fence, leased.attempts, leased.cursor, leased.failures)

    def _is_current(self, lease: Lease) -> bool:
        job = self.jobs.get(lease.job_id)
        return job is not None and job.status == "leased" and job.fence == lease.fence

    def _counted(self, lease: Lease, counted: Mapping[str, int]) -> Job:
        """The job with these counters added, for the holder of its fence."""
        if not self._is_current(lease):
            raise LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is no longer ours")
        job = self.jobs[lease.job_id]
        return replace(job, counters=dict(Counter(job.counters) + Counter(counted)))

    def _end(
        self,
        lease: Lease,
        counted: Mapping[str, int],
        status: Status,
        now: datetime,
        not_before: datetime | None = None,
    ) -> None:
        self.jobs[lease.job_id] = replace(
            self._counted(lease, counted),
            status=status,
            lease_owner=None,
            lease_until=None,
            not_before=not_before or now,
            finished_at=None if status == "pending" else now,
        )


def _fresh(job: NewJob, now: datetime) -> Job:
    return Job(
        id=str(new_id()),
        shard=job.shard,
        status="pending",
        lease_owner=None,
        lease_until=None,
        fence=0,
        attempts=0,
        attempts_total=0,
        failures=0,
        priority=job.priority,
        not_before=now + timedelta(seconds=job.delay),
        cursor=None,
        counters={},
        last_error_code=None,
        last_error_message=None,
        last_error_at=None,
        created_at=now,
        finished_at=None,
    )


def _buried(job: Job, now: datetime) -> Job:
    return replace(
        job,
        status="dead",
        lease_owner=None,
        lease_until=None,
        finished_at=now,
        last_error_code="lease-expired",
        last_error_message="its workers stopped without a word, again and again",
        last_error_at=now,
    )


def _expired(jobs: Iterable[Job], now: datetime) -> list[Job]:
    return [job for job in jobs if job.status == "leased" and job.lease_until is not None and job.lease_until < now]


def _claimable(jobs: Iterable[Job], now: datetime) -> list[Job]:
    everything = list(jobs)
    due = [job for job in everything if job.status == "pending" and job.not_before <= now]
    return _expired(everything, now) + sorted(due, key=lambda job: (-job.priority, job.not_before, job.id))
