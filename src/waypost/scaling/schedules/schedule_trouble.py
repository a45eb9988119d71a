"""What is wrong with a schedule: jobs of it are dead, or it is overdue.

It is overdue when what fell due has not been enqueued, as when no scheduler runs, or has not been done within another
period, as when no worker runs.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from waypost.scaling.jobs.job import UNFINISHED, Job
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.schedules.coverage_book import CoverageBook, group_of
from waypost.scaling.schedules.schedule import Coverage, Schedule, first_uncovered

# A scheduler looks every half minute, and may have to wait for its store.
_GRACE = timedelta(minutes=5)
# Dead jobs are counted up to here: a person who has so many knows.
MOST_DEAD = 1000


class ScheduleTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """`next_step` is for a person; None when all is well."""

    dead: int = 0
    overdue_since: datetime | None = None
    next_step: str | None = None


async def look_for_trouble(
    schedules: Mapping[str, Schedule], book: CoverageBook, jobs: JobStore, now: datetime
) -> dict[str, ScheduleTrouble]:
    """How each schedule is, also those that are well."""
    return {
        name: await _look_at(name, schedule, (await book.read(name)).coverage, jobs, now)
        for name, schedule in schedules.items()
    }


async def count_dead(jobs: JobStore) -> int:
    return len(await jobs.list(status="dead", limit=MOST_DEAD))


async def _look_at(name: str, schedule: Schedule, coverage: Coverage, jobs: JobStore, now: datetime) -> ScheduleTrouble:
    group = group_of(name)
    dead = await jobs.list(status="dead", group=group, limit=MOST_DEAD)
    unfinished = [job for status in UNFINISHED for job in await jobs.list(status=status, group=group, limit=1)]
    return judge(schedule, coverage, dead=[job.shard for job in dead], unfinished=unfinished, now=now)


def judge(
    schedule: Schedule, coverage: Coverage, *, dead: list[str], unfinished: list[Job], now: datetime
) -> ScheduleTrouble:
    """`unfinished` are the oldest of those that are pending or leased."""
    if coverage.paused:
        missed = late = None
    else:
        missed = _earlier_than(now - _GRACE, first_uncovered(schedule, now, coverage))
        begun = min((job.created_at for job in unfinished), default=None)
        late = _earlier_than(now, begun and begun + schedule.every)
    steps = (
        f"waypost job list --status dead --prefix {dead[0].rpartition('/')[0]}" if dead else None,
        "waypost scheduler run" if missed else None,
        "waypost worker run" if late else None,
    )
    since = min((moment for moment in (missed, late) if moment), default=None)
    return ScheduleTrouble(dead=len(dead), overdue_since=since, next_step=next(filter(None, steps), None))


def _earlier_than(limit: datetime, moment: datetime | None) -> datetime | None:
    return moment if moment and moment < limit else None
