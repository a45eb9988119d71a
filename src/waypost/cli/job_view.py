"""Jobs as people see them: with what an unfinished one waits for."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from waypost.scaling.jobs.job import UNFINISHED, Job

AWAY = "provider-away"
# What jobs that were given back wait for, by their last error; any other error was a failure.
_WAITS = {
    AWAY: "the provider",
    "provider-refused": "the provider",
    "provider-pauses": "the provider",
    "budget-exhausted": "a turn in the budget",
    "source-elsewhere": "a worker that has its source",
}
# A provider that was away longer ago than this may be back: a probe and the pause before it take two minutes at most.
_RECENT = timedelta(minutes=3)


class JobView(Job, frozen=True, kw_only=True):
    waits_for: str | None = None


def views_of(jobs: Sequence[Job], now: datetime) -> list[JobView]:
    """Jobs with what they wait for. One that was not tried since its provider went away waits like those that were."""
    away = {_source(job) for job in jobs if _is_away(job, now)}
    return [JobView(**msgspec.structs.asdict(job), waits_for=_waits_for(job, away, now)) for job in jobs]


def _waits_for(job: Job, away: set[str], now: datetime) -> str | None:
    left = max(0.0, (job.not_before - now).total_seconds())
    if job.status not in UNFINISHED:
        return None
    if _is_away(job, now):
        return f"the provider: {AWAY}, next probe {_in(left)}"
    if job.status == "pending" and left and job.last_error_code:
        what = _WAITS.get(job.last_error_code, "another try")
        return f"{what}: {job.last_error_code}, {_in(left)}"
    return f"the provider: {AWAY}" if _source(job) in away else None


def _is_away(job: Job, now: datetime) -> bool:
    is_recent = job.last_error_at is not None and now - job.last_error_at < _RECENT
    return job.status == "pending" and job.last_error_code == AWAY and is_recent


def _in(seconds: float) -> str:
    return f"in {seconds:.0f} s" if seconds >= 0.5 else "now"  # noqa: PLR2004 - what rounds to nothing


def _source(job: Job) -> str:
    return job.shard.partition("/")[0]
