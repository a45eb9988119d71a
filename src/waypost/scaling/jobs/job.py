"""A job is the work on one shard; a lease is the right to do it until a time.

    pending ──claim──> leased ──complete, split──> done
       ^                 │ │
       ├──release, retry─┘ └──terminal error, or attempts exhausted──> dead ──revive──> pending
       └──claim again, once the lease has expired

    pending, leased ──cancel, when no other group wants it──> cancelled ──enqueue──> pending

Each claim gives the job a new, larger fence. A write with an older fence, or to a job that is no longer leased, raises
LeaseLost.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import msgspec

from waypost.kernel.errors import TerminalError

Status = Literal["pending", "leased", "done", "dead", "cancelled"]
STATUSES: tuple[Status, ...] = ("pending", "leased", "done", "dead", "cancelled")
UNFINISHED: tuple[Status, ...] = ("pending", "leased")


class LeaseLost(TerminalError):
    """Another worker holds the job now, or none does; what was about to be written is dropped."""


class NewJob(msgspec.Struct, frozen=True):
    """A job to be done: higher priorities come first; `delay` is how many seconds it waits before it is due."""

    shard: str
    priority: int = 0
    delay: float = 0.0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    shard: str
    status: Status
    lease_owner: str | None
    lease_until: datetime | None
    fence: int
    attempts: int
    attempts_total: int
    failures: int
    priority: int
    not_before: datetime
    cursor: str | None
    counters: Mapping[str, int]
    last_error_code: str | None
    last_error_message: str | None
    last_error_at: datetime | None
    created_at: datetime
    finished_at: datetime | None


class Lease(msgspec.Struct, frozen=True):
    """What a claim returns. `attempts` counts this claim too, and `failures` those before it that failed; both start
    again after progress.
    """

    job_id: str
    shard: str
    fence: int
    attempts: int
    cursor: str | None
    failures: int = 0


class Done(msgspec.Struct, frozen=True):
    """An acknowledgement: the work on a lease is done, and this was counted since the last write."""

    lease: Lease
    counted: Mapping[str, int] = {}


class Renewed(msgspec.Struct, frozen=True):
    """Ids of jobs: `kept` are those whose lease is longer now, `busy` those that are being changed at the moment.

    Mostly it is their holder that changes them, in a commit. They should be tried again soon. All others are lost.
    """

    kept: set[str]
    busy: set[str] = set()


class Failure(msgspec.Struct, frozen=True):
    code: str
    message: str


class Tally(msgspec.Struct, frozen=True):
    """Where a group of jobs stands: jobs by status, and what was counted on them since the group began."""

    jobs: Mapping[Status, int]
    counters: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.jobs.values())

    @property
    def unfinished(self) -> int:
        return sum(self.jobs.get(status, 0) for status in UNFINISHED)


@dataclass(eq=False)
class Held:
    """A lease in a worker's hands: how long it may be trusted, and what was counted but not yet written down."""

    lease: Lease
    deadline: float
    renew: "Callable[[Held], Awaitable[None]] | None" = None
    on_progress: Callable[[], None] | None = None
    counted: Counter[str] = field(default_factory=Counter, init=False)
    lost: bool = field(default=False, init=False)
    # Set by a handler whose last write ended the job; otherwise the worker acknowledges it.
    ended: bool = field(default=False, init=False)

    async def keep(self) -> None:
        """Renews the lease if need be; for a handler, between two commits. The renewer may find it in the middle of a
        commit every time, when it cannot renew it. Raises LeaseLost when the lease is no longer ours.
        """
        if self.renew:
            await self.renew(self)

    def progressed(self, cursor: str | None) -> None:
        """A commit went through: what was counted is written down, and earlier attempts are forgiven."""
        self.lease = msgspec.structs.replace(self.lease, cursor=cursor, attempts=0, failures=0)
        self.counted.clear()
        if self.on_progress:
            self.on_progress()
