"""Where jobs are kept, and what is done with those that a person chooses by how their keys begin.

The store's clock alone decides what is due and what has expired.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from waypost.scaling.jobs.job import Done, Failure, Job, Lease, LeaseLost, NewJob, Renewed, Status, Tally

MOST_CHOSEN = 100_000


@dataclass(frozen=True)
class Capabilities:
    """Where backends truly differ."""

    # Whether `wait` returns at once when another process enqueues; otherwise it polls.
    notifies: bool
    # Whether jobs outlive the process.
    durable: bool


class JobStore(Protocol):
    """Every change of a leased job names its fence; when that is no longer current, LeaseLost is raised instead."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        """Makes sure there is a job for each shard, and notes that the group wants it; returns how many were new.

        A shard that is known already is not added again; a cancelled one becomes pending, a dead one stays dead.
        """

    async def cancel(self, group: str) -> int:
        """Pending and leased → cancelled, where no other group waits for the job; returns how many.

        The group no longer waits for its unfinished jobs, until it enqueues them again. No job ends cancelled while
        another group wants it: one that enqueues it at the same moment came first, or makes it pending again. Where a
        call takes many jobs in several steps and breaks off, calling again goes on.
        """

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None = None
    ) -> Sequence[Lease]:
        """Pending and due, or expired → leased, with a new and larger fence each, in one atomic step.

        With a group, only jobs that it waits for.
        Those of higher priority come first, then those due longest. A job whose lease has expired `max_vanished`
        times in a row without progress goes dead instead: it kills workers.
        """

    async def wait(self, seconds: float) -> None:
        """Waits until a job may have become claimable, or `seconds` have passed."""

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        """Extends leases whose fence is still current, even when late; one that has to wait does not hold up others."""

    async def checkpoint(self, lease: Lease, *, cursor: str | None, counted: Mapping[str, int]) -> None:
        """Notes progress: the cursor moves, and earlier attempts are forgiven."""

    async def complete(self, done: Sequence[Done]) -> set[str]:
        """Leased → done, many at once; returns the ids of those that were still ours. The others stay as they are."""

    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        """Leased → done, and a pending job for each part, wanted by the same groups, in one atomic step."""

    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        """Leased → pending after `retry_in` seconds, or → dead when that is None."""

    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        """Leased → pending, due after `delay` seconds; the attempt does not count. `why` may say what it waits for."""

    async def release_owner(self, owner: str, *, max_vanished: int) -> int:
        """Leased → pending, for all jobs that a worker of this name left behind; the attempt counts. Returns how many.

        Those that were begun `max_vanished` times in a row without progress go dead instead, as when they are claimed
        after their lease has expired: they may be what kills workers. Only for a worker that is known to be dead.
        """

    async def raise_fences(self, above: int) -> None:
        """Makes all new fences larger than this one, the highest that another store has seen."""

    async def revive(self, shards: Collection[str] | None = None) -> int:
        """Dead → pending with no attempts counted, for these shards or all; returns how many."""

    async def redo(self, shards: Collection[str]) -> int:
        """Done → pending, for these shards, whose places are gone from where they were kept; returns how many."""

    async def prune(
        self,
        *,
        older_than: float,
        statuses: Collection[Status] = ("done", "cancelled"),
        prefix: str = "",
        limit: int | None = None,
    ) -> int:
        """Forgets jobs that ended `older_than` seconds ago; returns how many. Their keys may be enqueued again.

        With a `prefix`, only those whose keys begin like this; with a `limit`, no more than so many.
        """

    async def get(self, shard_or_id: str) -> Job | None: ...

    async def list(
        self, *, status: Status | None = None, group: str | None = None, prefix: str = "", limit: int = 100
    ) -> Sequence[Job]:
        """Jobs in the order in which they were enqueued; `prefix` is how their shard keys begin."""

    async def count(self) -> Mapping[Status, int]:
        """Returns how many jobs have each status."""

    async def tally(self, group: str) -> Tally:
        """Returns where all jobs stand that the group ever waited for.

        A job that it cancelled and others go on with counts as cancelled until it ends.
        """


class Chosen(msgspec.Struct, frozen=True):
    """At most `limit` jobs, the oldest first."""

    prefix: str = ""
    limit: int = MOST_CHOSEN


async def revive_chosen(jobs: JobStore, chosen: Chosen) -> int:
    """Dead → pending; returns how many."""
    dead = await jobs.list(status="dead", prefix=chosen.prefix, limit=chosen.limit)
    return await jobs.revive([job.shard for job in dead]) if dead else 0


async def release_chosen(jobs: JobStore, chosen: Chosen) -> int:
    """Leased → pending; returns how many. Those whose lease ended meanwhile are left as they are."""
    released = 0
    for job in await jobs.list(status="leased", prefix=chosen.prefix, limit=chosen.limit):
        try:
            await jobs.release(Lease(job.id, job.shard, job.fence, job.attempts, job.cursor), counted={})
        except LeaseLost:
            continue
        released += 1
    return released
