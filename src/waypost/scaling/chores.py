"""Chores: jobs of our own, such as building a snapshot, that ask no provider.

Their keys have no area, only the line of the schedule that they are due at, so that any number of schedulers enqueue
each of them once. After a time away only the latest is due: doing a chore twice in a row changes nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from waypost.kernel.clock import to_text
from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_duration
from waypost.scaling.jobs.shards import ShardKey

# What the keys of chores begin with, where those of imports have their source.
OURSELVES = "waypost"
SNAPSHOT, PRUNE, OLDER = "snapshot", "prune", "older"

_SHORTEST, _LONGEST = timedelta(minutes=1), timedelta(days=366)


def parse_period(text: str) -> timedelta:
    """A duration that a schedule can have: whole seconds, from a minute to a year."""
    period = timedelta(seconds=parse_duration(text))
    if not _SHORTEST <= period <= _LONGEST or period.microseconds:
        raise ValueError(f"{text[:40]!r} is not a period from 1m to 366d in whole seconds")
    return period


def parse_time_of_day(text: str) -> timedelta:
    """The time since midnight, from `02:30`."""
    match = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)(:00)?", text.strip(), re.ASCII)
    if not match:
        raise ValueError(f"{text[:40]!r} is not a time of day; write it like 02:30, in UTC")
    return timedelta(hours=int(match[1]), minutes=int(match[2]))


@dataclass(frozen=True)
class SnapshotSchedule:
    what: ClassVar[str] = SNAPSHOT
    scope: ClassVar[str | None] = None
    settling: ClassVar[timedelta] = timedelta()
    every: timedelta = setting("every", "1h", parse=parse_period, explain="how often a snapshot is built")
    at: timedelta = setting("at", "00:00", parse=parse_time_of_day, explain="one of these times, in UTC")

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:  # noqa: ARG002 - the latest is enough
        return [ShardKey(OURSELVES, ((SNAPSHOT, to_text(end)),))]


@dataclass(frozen=True)
class PruneSchedule:
    what: ClassVar[str] = PRUNE
    scope: ClassVar[str | None] = None
    settling: ClassVar[timedelta] = timedelta()
    every: timedelta = setting("every", "1d", parse=parse_period, explain="how often jobs that ended are forgotten")
    at: timedelta = setting("at", "00:00", parse=parse_time_of_day, explain="one of these times, in UTC")
    older_than: timedelta = setting("older_than", "30d", parse=parse_period, explain="only jobs that ended so long ago")

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:  # noqa: ARG002 - the latest is enough
        """The key says how old, so that a worker needs no schedules of its own."""
        older = f"{self.older_than // timedelta(seconds=1)}s"
        return [ShardKey(OURSELVES, ((PRUNE, to_text(end)), (OLDER, older)))]
