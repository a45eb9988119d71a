"""Job stores with a defect each, to show that the checker sees it. Each is the one in memory, less a rule."""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from support.memory_jobs import MemoryJobStore
from waypost.scaling.jobs.job import Done, Failure, Job, Lease, NewJob, Status


class Unfenced(MemoryJobStore):
    """Asks who holds the lease now and then, but not whether the fence is current."""

    def _is_current(self, lease: Lease) -> bool:
        job = self.jobs.get(lease.job_id)
        return job is not None and job.status == "leased"


class ForgetsWhatIsDone(MemoryJobStore):
    """Says that a job is done, and loses every third of them."""

    _completed = 0

    async def complete(self, done: Sequence[Done]) -> set[str]:
        self._completed += 1
        if self._completed % 3:
            return await super().complete(done)
        with self._lock:
            return {ack.lease.job_id for ack in done if self._is_current(ack.lease)}


class RepeatsFences(MemoryJobStore):
    """Gives the same fence to two."""

    def _lease(self, job: Job, owner: str, until: object) -> Lease:
        self._fence -= self._fence % 2
        return super()._lease(job, owner, until)  # type: ignore[arg-type]


class GivesLeasesTwice(MemoryJobStore):
    """Takes a lease for expired long before it is."""

    async def renew(self, leases: Collection[Lease], *, lease: float) -> object:  # type: ignore[override]
        return await super().renew(leases, lease=-lease)


class LosesJobs(MemoryJobStore):
    """Says that a job was enqueued, and does not have it."""

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        kept = [job for job in jobs if not job.shard.endswith("1..2")]
        return await super().enqueue(kept, group=group) + len(jobs) - len(kept)


class PutsCursorsBack(MemoryJobStore):
    """A job that is given back begins from the start."""

    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        await super().release(lease, counted=counted, delay=delay, why=why)
        with self._lock:
            self.jobs[lease.job_id] = replace(self.jobs[lease.job_id], cursor=None)


class CountsTwice(MemoryJobStore):
    """Applies a page again, as a client does that repeats a write whose reply was late."""

    async def checkpoint(self, lease: Lease, *, cursor: str | None, counted: Mapping[str, int]) -> None:
        await super().checkpoint(lease, cursor=cursor, counted=counted)
        await super().checkpoint(lease, cursor=cursor, counted=counted)


class WakesTheDead(MemoryJobStore):
    """Enqueueing a shard revives its dead job, though no person said so."""

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        added = await super().enqueue(jobs, group=group)
        await self.revive([job.shard for job in jobs])
        return added


class IgnoresRaisedFences(MemoryJobStore):
    """Starts again where it was, as a store that was flushed does."""

    async def raise_fences(self, above: int) -> None:
        return None


class PrunesTooSoon(MemoryJobStore):
    """Takes what has just ended for old."""

    async def prune(
        self,
        *,
        older_than: float,
        statuses: Collection[Status] = ("done", "cancelled"),
        prefix: str = "",
        limit: int | None = None,
    ) -> int:
        return await super().prune(older_than=-older_than, statuses=statuses, prefix=prefix, limit=limit)


class KeepsWhatItsOwnerLeft(MemoryJobStore):
    """Says that it released the jobs of a dead worker, and did not."""

    async def release_owner(self, owner: str, *, max_vanished: int) -> int:
        return sum(job.status == "leased" and job.lease_owner == owner for job in self.jobs.values())


class LosesParts(MemoryJobStore):
    """Ends a job that was split, and forgets its parts."""

    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        await super().split(lease, [], counted=counted)


class CancelsForAll(MemoryJobStore):
    """Cancels what another group still waits for."""

    def _who_wants(self, job_id: str) -> Sequence[str]:
        return []


class LeavesTheExpired(MemoryJobStore):
    """Never looks at a lease that is over: whoever died keeps its jobs."""

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None = None
    ) -> Sequence[Lease]:
        return await super().claim(owner, limit=limit, lease=lease * 1000, max_vanished=max_vanished, group=group)


BROKEN: tuple[type[MemoryJobStore], ...] = (
    Unfenced,
    ForgetsWhatIsDone,
    RepeatsFences,
    GivesLeasesTwice,
    LosesJobs,
    PutsCursorsBack,
    CountsTwice,
    WakesTheDead,
    IgnoresRaisedFences,
    PrunesTooSoon,
    KeepsWhatItsOwnerLeft,
    LosesParts,
    CancelsForAll,
    LeavesTheExpired,
)
