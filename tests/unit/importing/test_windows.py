"""Windows on fixed grids: every instant of a time is in exactly one, and plans share what they have in common."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from waypost.importing.windows import GRIDS, Grid, Window, ceil, cover, floor
from waypost.scaling.jobs.shard_keys import BadShardKey

# Years on both sides of a century that is no leap year, and of one that is.
YEARS = (datetime(1895, 1, 1), datetime(2105, 1, 1))  # noqa: DTZ001 - Hypothesis adds the zone
zones = st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-9, minutes=-30))])
moments = st.datetimes(*YEARS, timezones=zones)
lengths = st.one_of(
    st.timedeltas(timedelta(microseconds=1), timedelta(days=2)),
    st.timedeltas(timedelta(microseconds=1), timedelta(days=130)),
)
grids = st.sampled_from(GRIDS)
# Months of hours are thousands of windows; how long that takes is no law of theirs.
unhurried = settings(deadline=None)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def holding(windows: Iterable[Window], moment: datetime) -> list[Window]:
    return [window for window in windows if moment in window]


@unhurried
@given(moments, lengths, grids, st.floats(0, 1, exclude_max=True))
@example(at("2024-02-28T23:59:59"), timedelta(days=2), "1d", 0.5)
@example(at("2023-02-28T23:59:59"), timedelta(days=2), "1mo", 0.5)
@example(at("2025-12-31T23:30:00"), timedelta(hours=1), "1mo", 0.5)
@example(at("2026-01-01T00:00:00"), timedelta(days=31), "1mo", 0.0)
@example(at("1900-02-28T12:00:00"), timedelta(days=1), "1h", 0.9)
def test_every_instant_is_in_exactly_one_window(
    since: datetime, length: timedelta, largest: Grid, where: float
) -> None:
    until = since + length
    windows = list(cover(since, until, largest))
    inside = min(since + length * where, until - timedelta(microseconds=1))
    for moment in (since, inside, until - timedelta(microseconds=1)):
        assert len(holding(windows, moment)) == 1
    # Each begins where the one before it ends, so that the same holds for every instant in between.
    assert all(before.end == after.start for before, after in pairwise(windows))


@unhurried
@given(moments, lengths, grids)
def test_no_more_is_covered_than_the_hours_around_it(since: datetime, length: timedelta, largest: Grid) -> None:
    windows = list(cover(since, since + length, largest))
    assert since - timedelta(hours=1) < windows[0].start <= since
    assert since + length <= windows[-1].end < since + length + timedelta(hours=1)


@unhurried
@given(moments, lengths, grids)
def test_each_window_is_one_step_of_a_grid_and_none_is_larger_than_allowed(
    since: datetime, length: timedelta, largest: Grid
) -> None:
    allowed = GRIDS[: GRIDS.index(largest) + 1]
    for window in cover(since, since + length, largest):
        assert any(
            floor(grid, window.start) == window.start
            and ceil(grid, window.start + timedelta(microseconds=1)) == window.end
            for grid in allowed
        )


@unhurried
@given(moments, lengths, grids)
def test_the_same_time_twice_gives_the_same_windows(since: datetime, length: timedelta, largest: Grid) -> None:
    elsewhere = since.astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert list(cover(since, since + length, largest)) == list(cover(elsewhere, since + length, largest))


@unhurried
@given(moments, lengths, lengths, grids)
def test_plans_that_begin_at_different_times_share_all_windows_after_the_first_whole_one(
    since: datetime, later: timedelta, length: timedelta, largest: Grid
) -> None:
    until = since + later + length
    shared_from = ceil(largest, since + later)
    early, late = (
        {window for window in cover(start, until, largest) if window.start >= shared_from}
        for start in (since, since + later)
    )
    assert early == late


@unhurried
@given(moments, lengths, lengths, grids)
def test_plans_that_end_at_different_times_share_all_windows_before_the_last_whole_one(
    since: datetime, length: timedelta, longer: timedelta, largest: Grid
) -> None:
    shared_to = floor(largest, since + length)
    short, long = (
        {window for window in cover(since, until, largest) if window.end <= shared_to}
        for until in (since + length, since + length + longer)
    )
    assert short == long


def test_a_backlog_is_covered_with_the_largest_that_fit() -> None:
    windows = cover(at("2024-01-30T22:30:00"), at("2024-03-02T01:10:00"), "1mo")
    assert [str(window) for window in windows] == [
        "2024-01-30T22:00:00Z..2024-01-30T23:00:00Z",
        "2024-01-30T23:00:00Z..2024-01-31T00:00:00Z",
        "2024-01-31T00:00:00Z..2024-02-01T00:00:00Z",
        "2024-02-01T00:00:00Z..2024-03-01T00:00:00Z",
        "2024-03-01T00:00:00Z..2024-03-02T00:00:00Z",
        "2024-03-02T00:00:00Z..2024-03-02T01:00:00Z",
        "2024-03-02T01:00:00Z..2024-03-02T02:00:00Z",
    ]


@pytest.mark.parametrize(("largest", "count"), [("1h", 366 * 24), ("1d", 366), ("1mo", 12)])
def test_a_leap_year_has_so_many_windows(largest: Grid, count: int) -> None:
    assert len(list(cover(at("2024-01-01"), at("2025-01-01"), largest))) == count


@unhurried
@given(moments, lengths, grids)
def test_a_window_that_was_written_is_read_again(since: datetime, length: timedelta, largest: Grid) -> None:
    for window in cover(since, since + min(length, timedelta(days=3)), largest):
        assert Window.parse(str(window)) == window


@pytest.mark.parametrize(
    "text",
    [
        "",
        "..",
        "2026-02-21T00:00:00Z",
        "2026-02-21T00:00:00Z..",
        "2026-02-21T00:00:00Z..2026-02-21T01:00:00Z..2026-02-21T02:00:00Z",
        "2026-02-21T00:00:00..2026-02-21T01:00:00",
        "2026-02-21T00:00:00+00:00..2026-02-21T01:00:00+00:00",
        "2026-02-21T01:00:00+01:00..2026-02-21T01:00:00Z",
        "2026-02-21T00:30:00Z..2026-02-21T01:30:00Z",
        "2026-02-30T00:00:00Z..2026-03-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00..2026-03-01T00:00:00Z",
        "20260221T000000Z..20260221T010000Z",
    ],
)
def test_a_window_in_any_other_form_is_refused(text: str) -> None:
    with pytest.raises(BadShardKey, match="is not a window"):
        Window.parse(text)


@pytest.mark.parametrize(
    "text",
    ["2026-02-21T01:00:00Z..2026-02-21T00:00:00Z", "2026-02-21T01:00:00Z..2026-02-21T01:00:00Z"],
)
def test_a_window_that_ends_before_it_starts_is_refused(text: str) -> None:
    with pytest.raises(BadShardKey, match="ends before it starts"):
        Window.parse(text)
