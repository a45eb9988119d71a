"""An import: one run over a scope, with an id and a report."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from waypost.importing.source import Scope
from waypost.scaling.jobs.job import UNFINISHED, Job, Tally

ImportStatus = Literal["running", "done", "failed", "cancelled"]
# What reports count, for an import and for each of its shards.
_COUNTERS = ("added", "changed", "unchanged", "removed", "rejected", "unsure", "requests", "retries", "refusals")


class Import(msgspec.Struct, frozen=True):
    id: str
    source: str
    scope: Scope
    status: ImportStatus
    started_at: datetime
    finished_at: datetime | None = None


class ImportStanding(Import, frozen=True):
    """How an import stands; `shards` counts its shards by status."""

    shards: Mapping[str, int] = {}


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did. `shards` counts its shards by status, and `unsure` counts those from which nothing was
    removed, because they were not read as one unchanging list.
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
    """What the work on one shard did; `seconds` is the time that workers spent on it."""

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
    """A record of a shard that could not be understood, and why; with its external id, if that is known."""

    shard: str
    external_id: str | None
    reason: str


class DetailedReport(ImportReport, frozen=True, kw_only=True):
    """What an import did, with each of its shards in the order of the plan, and some of the rejected records."""

    by_shard: Sequence[ShardReport]
    rejects: Sequence[Rejected]


class SomeShards(msgspec.Struct, frozen=True):
    """A batch of shards: those that no worker has touched for long, and the last of them all; None at the end."""

    old: Sequence[str]
    last: str | None


class ImportStore(Protocol):
    async def start(self, started: Import) -> None: ...

    async def finish(self, import_id: str, status: ImportStatus) -> None: ...

    async def get(self, import_id: str) -> Import | None: ...

    async def latest(self, limit: int) -> Sequence[Import]:
        """Returns the latest imports, the newest first."""

    async def rejects(self, shards: Sequence[str], limit: int) -> Sequence[Rejected]:
        """Returns rejected records of these shards, shard by shard."""

    async def forget_rejects(self, *, older_than: float, limit: int) -> int:
        """Forgets some rejected records that no page has had for `older_than` seconds; returns how many."""

    async def forget_answers(self, *, older_than: float, limit: int) -> int:
        """Forgets some answers that have not come, changed or unchanged, for `older_than` seconds; returns how many."""

    async def forget_removals(self, *, older_than: float, limit: int) -> int:
        """Forgets how many places some shards removed that ended `older_than` seconds ago; returns how many shards."""

    async def forget_imports(self, *, older_than: float, limit: int) -> int:
        """Forgets some imports that ended `older_than` seconds ago; returns how many."""
        ...

    async def shards_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        """Returns the next `limit` shards that the place store knows of, where jobs are kept apart."""

    async def forget_shards(self, shards: Sequence[str], *, older_than: float) -> int:
        """Forgets those of these shards that no worker has touched for `older_than` seconds; returns how many.

        The shard with the highest fence stays, so that no fence is given twice.
        """

    async def passes_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        """Returns the next `limit` shards whose reading has begun and not ended."""

    async def forget_pass(self, shard: str, *, older_than: float, limit: int) -> int:
        """Forgets some of what a reading left that nobody went on with for `older_than` seconds, and in the end the
        reading itself; returns how many rows that were, and 0 when nothing is left.
        """


def status_by_jobs(tally: Tally) -> ImportStatus:
    """Running while any of its jobs is unfinished. Only the import itself can cancel its jobs."""
    if tally.unfinished or not tally.total:
        return "running"
    if tally.jobs.get("cancelled"):
        return "cancelled"
    return "failed" if tally.jobs.get("dead") else "done"


def standing(known: Import, tally: Tally) -> ImportStanding:
    """How an import stands by its jobs, which others may have continued; once they are pruned, by what is written down.

    A cancelled import stays cancelled, whatever others do with its jobs.
    """
    status = known.status
    if status != "cancelled" and tally.total and not tally.unfinished:
        status = status_by_jobs(tally)
    return ImportStanding(**{**msgspec.structs.asdict(known), "status": status}, shards=_shards(tally))


def report(import_id: str, tally: Tally, seconds: float) -> ImportReport:
    counted = _reported(tally.counters)
    return ImportReport(id=import_id, **counted, shards=_shards(tally), seconds=round(seconds, 3))


def detailed(
    brief: ImportReport, jobs: Sequence[Job], rejects: Sequence[Rejected], *, cancelled: bool
) -> DetailedReport:
    """Adds each job. For a cancelled import, its unfinished jobs are cancelled, even while others want them."""
    shards = [_shard_report(job, "cancelled" if cancelled and job.status in UNFINISHED else job.status) for job in jobs]
    return DetailedReport(**msgspec.structs.asdict(brief), by_shard=shards, rejects=rejects)


def _shard_report(job: Job, status: str) -> ShardReport:
    return ShardReport(
        shard=job.shard,
        status=status,
        seconds=job.counters.get("milliseconds", 0) / 1000,
        **_reported(job.counters),
        last_error_code=job.last_error_code,
        last_error_message=job.last_error_message,
    )


def _shards(tally: Tally) -> dict[str, int]:
    return {status: count for status, count in tally.jobs.items() if count}


def _reported(counters: Mapping[str, int]) -> dict[str, int]:
    return {name: counters.get(name, 0) for name in _COUNTERS}
