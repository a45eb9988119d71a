"""Schedules as they are listed: what is configured, and where it stands."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.scaling.schedules.coverage_book import CoverageBook
from waypost.scaling.schedules.schedule import Coverage, Schedule, next_due
from waypost.scaling.schedules.schedule_trouble import ScheduleTrouble


class UnknownSchedule(AskedWrongly):
    """No schedule of that name is configured."""

    slug = "unknown-schedule"


class ListedSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """`every` is how often, as a person wrote it; `dead` counts its dead jobs."""

    name: str
    what: str
    scope: str | None
    every: str
    next_due: datetime | None
    covered_until: datetime | None
    paused: bool
    dead: int = 0
    overdue_since: datetime | None = None


async def list_schedules(
    schedules: Mapping[str, Schedule],
    every: Mapping[str, str],
    book: CoverageBook | None,
    now: datetime,
    trouble: Mapping[str, ScheduleTrouble] | None = None,
) -> list[ListedSchedule]:
    """Lists every schedule that is configured; without a book, none of them has covered anything yet."""
    listed = []
    for name, schedule in schedules.items():
        coverage = (await book.read(name)).coverage if book else Coverage()
        found = (trouble or {}).get(name, ScheduleTrouble())
        each = list_schedule(name, schedule, every[name], coverage, now)
        listed.append(msgspec.structs.replace(each, dead=found.dead, overdue_since=found.overdue_since))
    return listed


def list_schedule(name: str, schedule: Schedule, every: str, coverage: Coverage, now: datetime) -> ListedSchedule:
    return ListedSchedule(
        name=name,
        what=schedule.what,
        scope=schedule.scope,
        every=every,
        next_due=next_due(schedule, now, coverage),
        covered_until=coverage.covered_until,
        paused=coverage.paused,
    )


def find_schedule(schedules: Mapping[str, Schedule], name: str) -> Schedule:
    if name not in schedules:
        raise UnknownSchedule(
            f"there is no schedule {name[:40]!r}.{did_you_mean(name, schedules)}", next_step="waypost scheduler list"
        )
    return schedules[name]
