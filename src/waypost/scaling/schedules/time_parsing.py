"""How people write when a schedule is due: a period and a time of day."""

import re
from datetime import timedelta

from waypost.kernel.quantities import parse_duration

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
