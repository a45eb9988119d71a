"""An import: one run over a scope, with an id and a report."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from waypost.importing.source import Scope
from waypost.scaling.jobs.job import UNFINISHED, Job, Tally

ImportStatus = Literal["running", "done", "failed", "cancelled"]


class Import(msgspec.Struct, frozen=True):
    id: str
    source: str
    scope: Scope
    status: ImportStatus
    started_at: datetime
    finished_at: datetime | None = None


class ImportStanding(msgspec.Struct, frozen=True):
    """How an import stands; `shards` counts them by status."""

    id: str
    source: str
    scope: Scope
    status: ImportStatus
    started_at: datetime
    finished_at: datetime | None
    shards: Mapping[str, int]


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did; `shards` counts them by status, and `unsure` those of which nothing was removed, because they
    were not read as one still list.
    """

    id: str
    added: int
    changed: int
    unchanged: int
    removed: int
    rejected: int
    unsure: int
    requests: int
    retries: int
    refusals: int
    shards: Mapping[str, int]
    seconds: float


class ShardReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the work on one shard came to; `seconds` is the time that workers spent on it."""

    shard: str
    status: str
    seconds: float
    requests: int
    retries: int
    refusals: int
    added: int
    changed: int
    unchanged: int
    removed: int
    rejected: int
    unsure: int
    last_error_code: str | None
    last_error_message: str | None

    @property
    def places(self) -> int:
        return self.added + self.changed + self.unchanged


class Rejected(msgspec.Struct, frozen=True):
    """A record of a shard that could not be understood, and why; with its external id, where that much is known."""

    shard: str
    external_id: str | None
    reason: str


class DetailedReport(ImportReport, frozen=True, kw_only=True):
    """What an import did, with each of its shards in the order of the plan, and some of the rejected records."""

    by_shard: Sequence[ShardReport]
    rejects: Sequence[Rejected]


class SomeShards(msgspec.Struct, frozen=True):
    """Those of some shards that nobody has worked on for long; and the last of all of them, None when they were few."""

    old: Sequence[str]
    last: str | None


class ImportStore(Protocol):
    async def start(self, started: Import) -> None: ...

    async def finish(self, import_id: str, status: ImportStatus) -> None: ...

    async def get(self, import_id: str) -> Import | None: ...

    async def latest(self, limit: int) -> Sequence[Import]:
        """The newest first."""
        ...

    async def rejects(self, shards: Sequence[str], limit: int) -> Sequence[Rejected]:
        """Records of these shards that pages could not take in, shard by shard."""
        ...

    async def forget_rejects(self, *, older_than: float, limit: int) -> int:
        """Some of those that no page has had for so many seconds; returns how many."""
        ...

    async def forget_answers(self, *, older_than: float, limit: int) -> int:
        """Some of those that nobody has had for so many seconds, new or as before; returns how many."""
        ...

    async def forget_removals(self, *, older_than: float, limit: int) -> int:
        """What some shards came to that ended so many seconds ago; returns how many."""
        ...

    async def shards_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        """The next so many shards that the places know of, for jobs that are kept apart."""
        ...

    async def forget_shards(self, shards: Sequence[str], *, older_than: float) -> int:
        """Those of them that nobody has worked on for so many seconds; returns how many.

        The one with the highest fence stays, so that no fence is given twice.
        """
        ...


def status_by_jobs(tally: Tally) -> ImportStatus:
    """Running while it waits for a job, whoever works on it; a job that it has cancelled can only be its own wish."""
    if tally.unfinished or not tally.total:
        return "running"
    if tally.jobs.get("cancelled"):
        return "cancelled"
    return "failed" if tally.jobs.get("dead") else "done"


def standing(known: Import, tally: Tally) -> ImportStanding:
    """By its jobs, with which others may have gone on since it was written down; once they are pruned, by that.

    What was cancelled stays so, whatever others do with its jobs.
    """
    status = known.status
    if status != "cancelled" and tally.total and not tally.unfinished:
        status = status_by_jobs(tally)
    shards: dict[str, int] = {name: count for name, count in tally.jobs.items() if count}
    return ImportStanding(known.id, known.source, known.scope, status, known.started_at, known.finished_at, shards)


def report(import_id: str, tally: Tally, seconds: float) -> ImportReport:
    counted = tally.counters
    return ImportReport(
        id=import_id,
        added=counted.get("added", 0),
        changed=counted.get("changed", 0),
        unchanged=counted.get("unchanged", 0),
        removed=counted.get("removed", 0),
        rejected=counted.get("rejected", 0),
        unsure=counted.get("unsure", 0),
        requests=counted.get("requests", 0),
        retries=counted.get("retries", 0),
        refusals=counted.get("refusals", 0),
        shards={status: count for status, count in tally.jobs.items() if count},
        seconds=round(seconds, 3),
    )


def detailed(
    brief: ImportReport, jobs: Sequence[Job], rejects: Sequence[Rejected], *, cancelled: bool
) -> DetailedReport:
    """With each job. What a cancelled import waits for no more is cancelled for it, also while others want it."""
    shards = [_shard_report(job, "cancelled" if cancelled and job.status in UNFINISHED else job.status) for job in jobs]
    return DetailedReport(**msgspec.structs.asdict(brief), by_shard=shards, rejects=rejects)


def _shard_report(job: Job, status: str) -> ShardReport:
    counted = job.counters
    return ShardReport(
        shard=job.shard,
        status=status,
        seconds=counted.get("milliseconds", 0) / 1000,
        requests=counted.get("requests", 0),
        retries=counted.get("retries", 0),
        refusals=counted.get("refusals", 0),
        added=counted.get("added", 0),
        changed=counted.get("changed", 0),
        unchanged=counted.get("unchanged", 0),
        removed=counted.get("removed", 0),
        rejected=counted.get("rejected", 0),
        unsure=counted.get("unsure", 0),
        last_error_code=job.last_error_code,
        last_error_message=job.last_error_message,
    )
