"""When a schedule is overdue, and what is said about one whose jobs are dead."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.memory_jobs import MemoryJobStore
from waypost.scaling.jobs.job import Failure, NewJob
from waypost.scaling.schedules.schedule import Coverage, fulfil, promise
from waypost.scaling.schedules.schedule_trouble import MOST_DEAD, count_dead, judge
from waypost.serving.settings import SnapshotSchedule

HOUR = timedelta(hours=1)
HOURLY = SnapshotSchedule(every=HOUR, at=timedelta())
NOON = datetime(2026, 2, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("covered_until", "since"),
    [
        (NOON, None),
        (NOON - HOUR, NOON),
        (NOON - 5 * HOUR, NOON - 4 * HOUR),
        (None, NOON),
    ],
)
def test_what_was_not_enqueued_in_time_is_overdue_since_it_fell_due(
    covered_until: datetime | None, since: datetime | None
) -> None:
    now = NOON + timedelta(minutes=6)
    found = judge(HOURLY, Coverage(covered_until), dead=[], unfinished=[], now=now)
    assert found.overdue_since == since
    assert found.next_step == ("waypost scheduler run" if since else None)


def test_a_scheduler_has_some_minutes() -> None:
    now = NOON + timedelta(minutes=4)
    assert judge(HOURLY, Coverage(NOON - HOUR), dead=[], unfinished=[], now=now).overdue_since is None


def test_a_paused_schedule_is_not_overdue_but_its_jobs_may_be_dead() -> None:
    coverage = Coverage(NOON - 9 * HOUR, paused=True)
    found = judge(HOURLY, coverage, dead=["ocm/country:DE/full:2026-02-21"], unfinished=[], now=NOON)
    assert (found.dead, found.overdue_since) == (1, None)
    assert found.next_step == "waypost job list --status dead --prefix ocm/country:DE"


@given(st.datetimes(datetime(2020, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - added
def test_what_a_scheduler_has_just_looked_after_is_never_overdue(now: datetime) -> None:
    coverage = fulfil(promise(HOURLY, now, Coverage()))
    assert judge(HOURLY, coverage, dead=[], unfinished=[], now=now).next_step is None


@pytest.mark.parametrize(("age", "is_late"), [(timedelta(minutes=59), False), (timedelta(minutes=61), True)])
def test_jobs_that_nobody_did_within_a_period_are_overdue(age: timedelta, is_late: bool) -> None:  # noqa: FBT001 - a table
    jobs = MemoryJobStore()
    asyncio.run(jobs.enqueue([NewJob("waypost/snapshot:2026-02-21T12:00:00Z")]))
    [job] = asyncio.run(jobs.list())
    now = job.created_at + age
    found = judge(HOURLY, Coverage(now), dead=[], unfinished=[job], now=now)
    assert found.overdue_since == (job.created_at + HOUR if is_late else None)
    assert found.next_step == ("waypost worker run" if is_late else None)


def test_dead_jobs_are_counted_up_to_a_bound() -> None:
    async def work() -> int:
        jobs = MemoryJobStore()
        await jobs.enqueue([NewJob(f"shard-{number}") for number in range(MOST_DEAD + 1)])
        for lease in await jobs.claim("worker", limit=MOST_DEAD + 1, lease=30, max_vanished=9):
            await jobs.fail(lease, Failure("failed", "it failed"), retry_in=None, counted={})
        return await count_dead(jobs)

    assert asyncio.run(work()) == MOST_DEAD
