"""Which counts answer a question about a span."""

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from waypost.sharing.visits.spans import (
    DAY,
    FIRST_DAY,
    HOUR,
    LAST_DAY,
    STRETCH,
    Range,
    cover,
    cover_by,
    from_us,
    to_us,
    windows,
)
from waypost.sharing.visits.store import Span

START = datetime(2026, 2, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 90 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes)) | st.builds(
    lambda hours, beside: START + timedelta(hours=hours, microseconds=beside), st.integers(0, 2000), st.integers(-1, 1)
)
SPANS = st.builds(Span, st.none() | MOMENTS, st.none() | MOMENTS)


def holds(each: Range, number: int) -> bool:
    return each[0] <= number < each[1]


@given(SPANS, MOMENTS)
def test_each_moment_of_a_span_is_in_one_piece_and_no_other_moment_in_any(span: Span, moment: datetime) -> None:
    found, at = cover(span), to_us(moment)
    wanted = (span.start is None or span.start <= moment) and (span.end is None or moment < span.end)
    pieces = [holds(found.days, at // DAY)]
    pieces += [holds(each, at // HOUR) for each in found.hours]
    pieces += [holds(each, at) for each in found.moments]
    assert sum(pieces) == wanted
    by_value = [holds(found.stretches, at // DAY // STRETCH)]
    by_value += [holds(each, at // DAY) for each in found.spare_days]
    assert sum(by_value) == holds(found.days, at // DAY)
    assert sum(by_value) + sum(holds(each, at) for each in found.parts) == wanted
    by_hour = cover_by("hour", span)
    pieces = [holds(each, at // HOUR) for each in by_hour.hours] + [holds(each, at) for each in by_hour.moments]
    assert sum(pieces) == wanted


@given(SPANS)
def test_what_is_left_for_events_is_less_than_a_day_at_each_end_and_less_than_an_hour_of_visits(span: Span) -> None:
    found = cover(span)
    assert all(end - start < DAY for start, end in found.parts)
    assert all(end - start < HOUR for start, end in found.moments)
    assert all(end - start < STRETCH for start, end in found.spare_days)


@given(MOMENTS, MOMENTS)
def test_windows_cover_all_of_time_once_and_end_where_stretches_do(one: datetime, other: datetime) -> None:
    found = list(windows(min(one, other), max(one, other)))
    assert (found[0][0], found[-1][1]) == (FIRST_DAY, LAST_DAY)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(found))
    assert all(start % STRETCH == end % STRETCH == 0 for start, end in found)
    inner = found[1:-1]
    assert all(end - start == STRETCH for start, end in inner)


def test_without_events_there_is_one_window() -> None:
    assert list(windows(None, None)) == [(FIRST_DAY, LAST_DAY)]


@given(st.datetimes(timezones=st.just(UTC)))
def test_moments_are_numbers_and_back(moment: datetime) -> None:
    assert from_us(to_us(moment)) == moment
    assert FIRST_DAY <= to_us(moment) // DAY < LAST_DAY
