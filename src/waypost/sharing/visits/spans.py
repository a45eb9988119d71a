"""Which counts answer a question about a span: whole days and hours were counted already, the rest is in events.

Days, hours and stretches are numbered from 1970-01-01T00:00Z on. A stretch is 32 days; it has no other meaning than
that years of days become few enough to add up while somebody waits.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from waypost.sharing.visits.store import Span, Step

HOUR = 3_600_000_000
DAY = 24 * HOUR
STRETCH = 32

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# All that a datetime can say, in whole stretches.
FIRST_DAY = (datetime.min.replace(tzinfo=UTC) - _EPOCH).days // STRETCH * STRETCH
LAST_DAY = ((datetime.max.replace(tzinfo=UTC) - _EPOCH).days // STRETCH + 1) * STRETCH

# From a number on, until just before another.
Range = tuple[int, int]
NOTHING: Range = (0, 0)


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_us(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


class Cover(msgspec.Struct, frozen=True):
    """A span, put together from what was counted. Everything in it is in exactly one of days, hours and moments.

    The same days are also in exactly one of stretches and spare days; and parts are what days leave over.
    """

    days: Range
    hours: tuple[Range, Range]
    # In microseconds: what is left of hours at both ends, and of days.
    moments: tuple[Range, Range]
    parts: tuple[Range, Range]
    stretches: Range
    spare_days: tuple[Range, Range]


def cover(span: Span) -> Cover:
    start, end = _bounds(span)
    days, parts = _cut((start, end), DAY)
    cuts = [_cut(part, HOUR) for part in parts]
    stretches, spare_days = _cut(days, STRETCH)
    return Cover(
        days,
        _two(hours for hours, _ in cuts),
        _two(moment for _, rest in cuts for moment in rest),
        _two(parts),
        stretches,
        _two(spare_days),
    )


def cover_by(step: Step, span: Span) -> Cover:
    """Without whole days, where hours are asked for."""
    if step == "day":
        return cover(span)
    hours, moments = _cut(_bounds(span), HOUR)
    return Cover(NOTHING, (hours, NOTHING), _two(moments), (NOTHING, NOTHING), NOTHING, (NOTHING, NOTHING))


def windows(oldest: datetime | None, newest: datetime | None) -> Iterator[Range]:
    """Ranges of days, a stretch each, from one event to another. The outer ones reach to the ends of time."""
    first, last = (to_us(event) // DAY if event else 0 for event in (oldest, newest))
    starts = range((first // STRETCH + 1) * STRETCH, last + 1, STRETCH)
    yield from zip((FIRST_DAY, *starts), (*starts, LAST_DAY), strict=True)


def _bounds(span: Span) -> Range:
    start = FIRST_DAY * DAY if span.start is None else to_us(span.start)
    end = LAST_DAY * DAY if span.end is None else to_us(span.end)
    return start, end


def _cut(wanted: Range, size: int) -> tuple[Range, list[Range]]:
    """The whole units inside, by their numbers; and what is left over at both ends."""
    start, end = wanted
    if start >= end:
        return NOTHING, []
    first, last = -(-start // size), end // size
    if first > last:
        return NOTHING, [wanted]
    rest = [(start, first * size), (last * size, end)]
    return (first, last), [part for part in rest if part[0] < part[1]]


def _two(ranges: "Iterator[Range] | list[Range]") -> tuple[Range, Range]:
    """Statements take two of each; there are never more."""
    found = [each for each in ranges if each[0] < each[1]]
    first, second, *_ = (*found, NOTHING, NOTHING)
    return first, second
