"""A schedule, and what is due at a moment, decided from what was covered before. Nothing here asks a clock or a store.

A schedule has lines, times that lie evenly in UTC. What is due lies between the line that was covered last and the one
that passed last. Keys depend on where time is cut, so the promise to cover it up to a line is written down before any
key is enqueued: a scheduler that runs after a crash, or at the same time, enqueues exactly these keys and no others.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import dropwhile, pairwise
from typing import ClassVar, Protocol

import msgspec
from msgspec.structs import replace

from waypost.kernel.clock import to_text
from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_duration
from waypost.scaling.jobs.shard_keys import OURSELVES, ShardKey

# A week of hours. A stretch that has not been done for that long is for a person to look at: its jobs are dead.
MOST_AWAITED = 168

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORTEST, _LONGEST = timedelta(minutes=1), timedelta(days=366)
PRUNE, OLDER = "prune", "older"


class Schedule(Protocol):
    @property
    def what(self) -> str:
        """What it is for, in one word."""

    @property
    def scope(self) -> str | None:
        """What it asks for, as a person wrote it; None where there is nothing to choose."""

    @property
    def every(self) -> timedelta:
        """The time from one line to the next."""

    @property
    def at(self) -> timedelta:
        """The time from midnight in UTC to one of the lines."""

    @property
    def settling(self) -> timedelta:
        """The time from a line until what lies before it is due."""

    @property
    def is_awaited(self) -> bool:
        """Whether what was enqueued is looked after until it is done; if not, it comes again when it is next due."""

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:
        """Keys that cover the time between two lines; the same for the same lines."""


class Coverage(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a schedule has come: covered up to a time, and perhaps promised up to a later one.

    `awaited` has the start of each stretch that was enqueued and is not known to be done; the last stretch ends where
    the covered time does, and each of the others where the next one begins.
    """

    covered_until: datetime | None = None
    promised_until: datetime | None = None
    paused: bool = False
    awaited: tuple[datetime, ...] = ()

    @property
    def stretches(self) -> Sequence[tuple[datetime, datetime]]:
        assert self.covered_until or not self.awaited
        return list(pairwise((*self.awaited, self.covered_until))) if self.covered_until else []


@dataclass(frozen=True)
class Due:
    """Keys to enqueue now, after which all is covered up to `end`."""

    start: datetime
    end: datetime
    keys: tuple[ShardKey, ...]


def last_line(schedule: Schedule, now: datetime) -> datetime:
    """The last line before which everything is due."""
    return _line_before(schedule, now - schedule.settling)


def due(schedule: Schedule, now: datetime, covered_until: datetime | None) -> Due | None:
    """What is due since `covered_until`; at the first start, only what belongs to the last line."""
    start, end = _stretch(schedule, now, covered_until)
    return Due(start, end, tuple(schedule.keys(start, end))) if start < end else None


def next_due(schedule: Schedule, now: datetime, coverage: Coverage) -> datetime | None:
    """When there is something to do: now at the earliest, never while paused."""
    if coverage.paused:
        return None
    covered_until = coverage.covered_until
    if coverage.promised_until or covered_until is None or covered_until < last_line(schedule, now):
        return now
    return _line_before(schedule, covered_until) + schedule.every + schedule.settling


def first_uncovered(schedule: Schedule, now: datetime, coverage: Coverage) -> datetime | None:
    """When the first of what is due and not enqueued fell due; None when there is nothing.

    Without any coverage that is the last line: nobody knows how long there has been a schedule.
    """
    end = last_line(schedule, now)
    if coverage.covered_until is None:
        return end + schedule.settling
    if coverage.covered_until >= end:
        return None
    return _line_before(schedule, coverage.covered_until) + schedule.every + schedule.settling


def promise(schedule: Schedule, now: datetime, coverage: Coverage) -> Coverage:
    """What to write down before anything is enqueued. A promise that stands is kept before a new one is made."""
    if coverage.paused or coverage.promised_until:
        return coverage
    start, end = _stretch(schedule, now, coverage.covered_until)
    return replace(coverage, covered_until=start, promised_until=end) if start < end else coverage


def fulfil(coverage: Coverage, *, awaiting: bool = False) -> Coverage:
    """All is enqueued. With `awaiting`, it is remembered until it is done, or until MOST_AWAITED others follow."""
    assert coverage.covered_until
    awaited = (*coverage.awaited, coverage.covered_until)[-MOST_AWAITED:] if awaiting else ()
    return replace(coverage, covered_until=coverage.promised_until, promised_until=None, awaited=awaited)


def settle(coverage: Coverage, left: Collection[datetime]) -> Coverage:
    """Forgets awaited stretches up to the first that is not done: those after it stay, for where they were cut."""
    kept = tuple(dropwhile(lambda start: start not in left, coverage.awaited))
    return replace(coverage, awaited=kept)


def _stretch(schedule: Schedule, now: datetime, covered_until: datetime | None) -> tuple[datetime, datetime]:
    end = last_line(schedule, now)
    return covered_until or end - schedule.every, end


def _line_before(schedule: Schedule, moment: datetime) -> datetime:
    """The last line that is not after the moment."""
    first = _EPOCH + schedule.at
    return first + (moment - first) // schedule.every * schedule.every


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
class PruneSchedule:
    """The schedule of a chore: forgetting old jobs.

    The key of a chore has no area, only the line of the schedule at which it is due, so that any number of schedulers
    enqueue it once. After a time away, only the latest is due: doing a chore twice in a row changes nothing.
    """

    what: ClassVar[str] = PRUNE
    scope: ClassVar[str | None] = None
    settling: ClassVar[timedelta] = timedelta()
    is_awaited: ClassVar[bool] = False
    every: timedelta = setting("every", "1d", "how often jobs that ended are forgotten", parse_period)
    at: timedelta = setting("at", "00:00", "one of these times, in UTC", parse_time_of_day)
    older_than: timedelta = setting("older_than", "30d", "only jobs that ended so long ago", parse_period)

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:  # noqa: ARG002 - the latest is enough
        """The key says how old, so that a worker needs no schedules of its own."""
        older = f"{self.older_than // timedelta(seconds=1)}s"
        return [ShardKey(OURSELVES, ((PRUNE, to_text(end)), (OLDER, older)))]
