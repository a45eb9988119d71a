"""Where jobs are kept. The store's clock alone decides what is due and what has expired."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from waypost.scaling.jobs.job import Failure, Job, Lease, Status, Tally


class JobStore(Protocol):
    async def enqueue(self, shards: Sequence[str], *, group: str) -> None:
        """Make sure there is a job for each shard, and note that the group wants it.

        A shard that is known already is not added again; a cancelled one becomes pending, a dead one stays dead.
        """
        ...

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_attempts: int, group: str | None = None
    ) -> Sequence[Lease]:
        """Pending or expired → leased, with a new and larger fence each, in one transaction.

        A job whose lease has expired `max_attempts` times in a row without progress goes dead: it kills workers.
        """
        ...

    async def renew(self, leases: Collection[Lease], *, lease: float) -> set[str]:
        """Extend leases whose fence is still current, also when late; returns the ids of the jobs that were kept."""
        ...

    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        """Leased → pending after `retry_in` seconds, or → dead when that is None. Raises LeaseLost."""
        ...

    async def release(self, lease: Lease, *, counted: Mapping[str, int]) -> None:
        """Leased → pending at once; the attempt does not count. Raises LeaseLost."""
        ...

    async def release_owner(self, owner: str) -> int:
        """Release whatever a worker of this name left behind. Only for a name that is known to be dead."""
        ...

    async def revive(self, shards: Collection[str] | None = None) -> int:
        """Dead → pending with no attempts counted, for these shards or all; returns how many."""
        ...

    async def get(self, shard_or_id: str) -> Job | None: ...

    async def list(
        self, *, status: Status | None = None, group: str | None = None, limit: int = 100
    ) -> Sequence[Job]: ...

    async def tally(self, group: str) -> Tally: ...
