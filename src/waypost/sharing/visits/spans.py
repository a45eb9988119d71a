"""Which counts answer a question about a span: whole days and hours were counted already, the rest is in events.

Days, hours and stretches are numbered from 1970-01-01T00:00Z. A stretch is 32 days; it only serves to make years of
days few enough to add up while a client waits.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from waypost.sharing.visits.store import Span, Step

HOUR = 3_600_000_000
DAY = 24 * HOUR
STRETCH = 32
DAY_HOURS = 24

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# The full range of datetime, in whole stretches.
FIRST_DAY = (datetime.min.replace(tzinfo=UTC) - _EPOCH).days // STRETCH * STRETCH
LAST_DAY = ((datetime.max.replace(tzinfo=UTC) - _EPOCH).days // STRETCH + 1) * STRETCH

# From the first number up to, but not including, the second.
Range = tuple[int, int]
NOTHING: Range = (0, 0)
# The same, and whether it is to be added (1) or taken away (-1).
Piece = tuple[int, int, int]
NO_PIECE: Piece = (0, 0, 1)


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_us(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


class ByValue(msgspec.Struct, frozen=True):
    """The whole hours of a span, from as few periods as possible: each period has a row for each value."""

    stretches: Range
    days: tuple[Piece, Piece]
    hours: tuple[Piece, Piece]


class Cover(msgspec.Struct, frozen=True):
    """A span, put together from what was counted. Each moment of it is in exactly one of days, hours and moments."""

    days: Range
    hours: tuple[Range, Range]
    # In microseconds: the incomplete hours at both ends.
    moments: tuple[Range, Range]

    def beside(self, moments: Range) -> tuple[int, int]:
        """The day of these moments, and which other hours of that day are in the span, as bits."""
        day = moments[0] // DAY
        first = day * DAY_HOURS
        bits = (hour - first for start, end in self.hours for hour in range(start, end))
        return day, sum(1 << bit for bit in bits if 0 <= bit < DAY_HOURS)


def cover(span: Span) -> Cover:
    hours, moments = _cut(_bounds(span), HOUR)
    days, spare_hours = _cut(hours, DAY_HOURS)
    return Cover(days, _two(spare_hours), _two(moments))


def cover_by(step: Step, span: Span) -> Cover:
    """Covers a span for a series: without whole days when the step is an hour."""
    if step == "day":
        return cover(span)
    hours, moments = _cut(_bounds(span), HOUR)
    return Cover(NOTHING, (hours, NOTHING), _two(moments))


def by_value(span: Span) -> ByValue:
    days, hour_pieces = _near(_cut(_bounds(span), HOUR)[0], DAY_HOURS)
    stretches, day_pieces = _near(days, STRETCH)
    return ByValue(stretches, day_pieces, hour_pieces)


def windows(oldest: datetime | None, newest: datetime | None) -> Iterator[Range]:
    """Yields ranges of days, a stretch each, from the oldest event to the newest; the outer ones reach to the ends of
    time.
    """
    first, last = _days(oldest, newest)
    yield from _split((FIRST_DAY, LAST_DAY), range((first // STRETCH + 1) * STRETCH, last + 1, STRETCH))


def single_days(window: Range, oldest: datetime | None, newest: datetime | None) -> Iterator[Range]:
    """Splits a window into days; all days before the first event are one range, and so are those after the last."""
    first, last = _days(oldest, newest)
    yield from _split(window, range(max(window[0], first) + 1, min(window[1], last + 1)))


def stretches_of(days: Range) -> Range:
    """The stretches that contain any of the days."""
    return days[0] // STRETCH, -(-days[1] // STRETCH)


def _days(*moments: datetime | None) -> list[int]:
    return [to_us(moment) // DAY if moment else 0 for moment in moments]


def _split(wanted: Range, starts: range) -> Iterator[Range]:
    yield from zip((wanted[0], *starts), (*starts, wanted[1]), strict=True)


def _bounds(span: Span) -> Range:
    start = FIRST_DAY * DAY if span.start is None else to_us(span.start)
    end = LAST_DAY * DAY if span.end is None else to_us(span.end)
    return start, end


def _cut(wanted: Range, size: int) -> tuple[Range, list[Range]]:
    """Returns the numbers of the whole units inside, and what is left over at both ends."""
    start, end = wanted
    if start >= end:
        return NOTHING, []
    first, last = -(-start // size), end // size
    if first > last:
        return NOTHING, [wanted]
    rest = [(start, first * size), (last * size, end)]
    return (first, last), [part for part in rest if part[0] < part[1]]


def _near(wanted: Range, size: int) -> tuple[Range, tuple[Piece, Piece]]:
    """Returns the whole units nearest to the range, and the pieces to add (1) or take away (-1) at both ends."""
    start, end = wanted
    first, last = ((each + size // 2) // size for each in wanted)
    if first >= last:
        return NOTHING, ((start, end, 1), NO_PIECE)
    return (first, last), (_gap(start, first * size), _gap(last * size, end))


def _gap(start: int, end: int) -> Piece:
    return (start, end, 1) if start <= end else (end, start, -1)


def _two(ranges: list[Range]) -> tuple[Range, Range]:
    """Fills up with empty ranges: statements take two of each, and there are never more."""
    first, second, *_ = (*ranges, NOTHING, NOTHING)
    return first, second
