"""Which counts answer a question about a span."""

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from waypost.sharing.visits.spans import (
    DAY,
    DAY_HOURS,
    FIRST_DAY,
    HOUR,
    LAST_DAY,
    STRETCH,
    Range,
    by_value,
    cover,
    cover_by,
    from_us,
    single_days,
    stretches_of,
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
    by_hour = cover_by("hour", span)
    pieces = [holds(each, at // HOUR) for each in by_hour.hours] + [holds(each, at) for each in by_hour.moments]
    assert sum(pieces) == wanted


@given(SPANS)
def test_what_is_left_for_events_is_less_than_an_hour_at_each_end(span: Span) -> None:
    found = cover(span)
    assert all(end - start < HOUR for start, end in found.moments)
    assert sum(end - start for start, end in found.hours) < 2 * DAY_HOURS


@given(SPANS, MOMENTS)
def test_what_is_added_less_what_is_taken_away_is_each_whole_hour_once(span: Span, moment: datetime) -> None:
    whole, found, hour = cover(span), by_value(span), to_us(moment) // HOUR
    wanted = holds(whole.days, hour // DAY_HOURS) or any(holds(each, hour) for each in whole.hours)
    counted = int(holds(found.stretches, hour // DAY_HOURS // STRETCH))
    counted += sum(sign * holds((start, end), hour // DAY_HOURS) for start, end, sign in found.days)
    counted += sum(sign * holds((start, end), hour) for start, end, sign in found.hours)
    assert counted == wanted


@given(SPANS)
def test_few_periods_do_for_any_span(span: Span) -> None:
    found = by_value(span)
    assert sum(end - start for start, end, _ in found.hours) <= DAY_HOURS
    assert sum(end - start for start, end, _ in found.days) <= STRETCH


@given(SPANS, MOMENTS)
def test_beside_moments_at_an_end_are_the_hours_of_their_day_that_are_in_the_span(span: Span, moment: datetime) -> None:
    found, hour = cover(span), to_us(moment) // HOUR
    for moments in found.moments:
        day, hours = found.beside(moments)
        assert moments[0] // DAY == day
        if hour // DAY_HOURS == day:
            assert hours >> hour % DAY_HOURS & 1 == any(holds(each, hour) for each in found.hours)


@given(MOMENTS, MOMENTS)
def test_windows_cover_all_of_time_once_and_end_where_stretches_do(one: datetime, other: datetime) -> None:
    found = list(windows(min(one, other), max(one, other)))
    assert (found[0][0], found[-1][1]) == (FIRST_DAY, LAST_DAY)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(found))
    assert all(start % STRETCH == end % STRETCH == 0 for start, end in found)
    inner = found[1:-1]
    assert all(end - start == STRETCH for start, end in inner)


@given(MOMENTS, MOMENTS)
def test_a_window_can_be_had_a_day_at_a_time(one: datetime, other: datetime) -> None:
    oldest, newest = min(one, other), max(one, other)
    found = [days for window in windows(oldest, newest) for days in single_days(window, oldest, newest)]
    assert (found[0][0], found[-1][1]) == (FIRST_DAY, LAST_DAY)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(found))
    assert all(end - start == 1 for start, end in found[1:-1])
    for days in found[1:-1]:
        assert holds(stretches_of(days), days[0] // STRETCH)


def test_without_events_there_is_one_window() -> None:
    assert list(windows(None, None)) == [(FIRST_DAY, LAST_DAY)]
    assert stretches_of((FIRST_DAY, LAST_DAY)) == (FIRST_DAY // STRETCH, LAST_DAY // STRETCH)


@given(st.datetimes(timezones=st.just(UTC)))
def test_moments_are_numbers_and_back(moment: datetime) -> None:
    assert from_us(to_us(moment)) == moment
    assert FIRST_DAY <= to_us(moment) // DAY < LAST_DAY
