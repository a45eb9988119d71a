"""A split covers its parent and does not overlap, and every shard comes to an end of splitting."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from waypost.importing.cuts import Axis, IdRange, split
from waypost.importing.geography import FLOOR_DEPTH, Cell, cell_of
from waypost.importing.windows import Window
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

ALL: frozenset[Axis] = frozenset({"ids", "box", "window"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)

numbers = st.integers(0, 10**12)
hours = st.integers(-(10**5), 10**6)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start, length = draw(hours), draw(st.one_of(st.integers(1, 100), st.integers(1, 800).map(lambda days: days * 24)))
    start = start // 24 * 24 if draw(st.booleans()) else start
    return Window(EPOCH + start * HOUR, EPOCH + (start + length) * HOUR)


@st.composite
def ranges(draw: st.DrawFn) -> IdRange:
    start = draw(numbers)
    return IdRange(start, draw(st.none() | st.integers(start + 1, 2 * 10**12)))


def leaves(shard: ShardKey, axes: frozenset[Axis], towards: Callable[[ShardKey], bool]) -> ShardKey:
    """Split again and again, and follow the one part that has what is looked for, to where nothing can be split."""
    while parts := split(shard, axes):
        (shard,) = [part for part in parts if towards(part)]
    return shard


@given(windows(), st.floats(0, 1, exclude_max=True))
def test_every_instant_of_a_window_is_in_one_part_of_it_down_to_its_hour(window: Window, where: float) -> None:
    moment = window.start + (window.end - window.start) * where
    assume(moment in window)
    shard = ShardKey("other", (("country", "DE"), ("window", str(window))))
    hour = Window.parse(leaves(shard, ALL, lambda part: moment in Window.parse(part["window"]))["window"])
    assert moment in hour
    assert hour.end - hour.start == HOUR


@given(windows())
def test_the_halves_of_a_window_meet_and_are_as_long_as_the_grid_allows(window: Window) -> None:
    halves = window.halves()
    if not halves:
        assert window.end - window.start == HOUR
        return
    first, second = halves
    assert (first.start, first.end, second.end) == (window.start, second.start, window.end)
    assert abs((first.end - first.start) - (second.end - second.start)) <= timedelta(days=1)


@pytest.mark.parametrize(
    ("window", "middle"),
    [
        ("2024-02-01T00:00:00Z..2024-03-01T00:00:00Z", "2024-02-15T00:00:00Z"),
        ("2026-01-01T00:00:00Z..2026-02-01T00:00:00Z", "2026-01-16T00:00:00Z"),
        ("2026-02-21T00:00:00Z..2026-02-22T00:00:00Z", "2026-02-21T12:00:00Z"),
        ("2026-02-21T05:00:00Z..2026-02-21T08:00:00Z", "2026-02-21T06:00:00Z"),
    ],
)
def test_a_month_is_cut_between_days_and_a_day_between_hours(window: str, middle: str) -> None:
    start, _, end = window.partition("..")
    shard = ShardKey("other", (("country", "DE"), ("window", window)))
    assert [part["window"] for part in split(shard, {"window"})] == [f"{start}..{middle}", f"{middle}..{end}"]


@given(ranges(), numbers, numbers)
def test_every_id_of_a_range_is_in_exactly_one_half(ids: IdRange, highest: int, number: int) -> None:
    halves = ids.halves(highest)
    assume(halves)
    assert sum(number in half for half in halves) == (number in ids)
    assert all(half.end is None or half.start < half.end for half in halves)


@given(ranges())
def test_a_range_that_was_written_is_read_again(ids: IdRange) -> None:
    assert IdRange.parse(str(ids)) == ids


@given(st.integers(0, 1000), st.integers(1, 1000), st.data())
def test_a_range_of_ids_is_cut_down_to_single_ones(start: int, count: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(start, start + count - 1))
    shard = ShardKey("ocm", (("country", "DE"), ("full", "2026-02-21"), ("ids", str(IdRange(start, start + count)))))
    end = leaves(shard, frozenset({"ids"}), lambda part: number in IdRange.parse(part["ids"]))
    assert end["ids"] == f"{number}..{number + 1}"


@pytest.mark.parametrize(
    "text", ["", "..", "..5", "5", "5..5", "6..5", "-1..5", "05..6", "5...6", "5..06", "5..6\n", "²..5"]
)
def test_what_is_no_range_of_ids_is_refused(text: str) -> None:
    with pytest.raises(BadShardKey, match="range of ids"):
        IdRange.parse(text)


@given(st.text("0123", max_size=FLOOR_DEPTH - 1), st.floats(-90, 90), st.floats(-180, 180))
def test_a_cell_is_cut_in_four_and_a_point_is_in_one_of_them(path: str, lat: float, lon: float) -> None:
    shard = ShardKey("other", (("box", str(Cell(path))), ("full", "2026-02-21")))
    parts = [Cell.parse(part["box"]) for part in split(shard, ALL)]
    assert len(set(parts)) == 4
    inside = cell_of(lat, lon, len(path)) == Cell(path)
    assert sum(part.holds(lat, lon) for part in parts) == inside


def test_a_cell_at_the_floor_is_cut_by_time_where_it_has_one_and_then_by_ids() -> None:
    shard = ShardKey("other", (("box", "q" + "1" * FLOOR_DEPTH), ("full", "2026-02-21")))
    assert [part["ids"] for part in split(shard, ALL, highest_id=999)] == ["0..500", "500.."]
    windowed = ShardKey("other", (shard.parts[0], ("window", "2026-02-21T00:00:00Z..2026-02-21T02:00:00Z")))
    halves = split(windowed, ALL)
    assert [part["window"][-20:] for part in halves] == ["2026-02-21T01:00:00Z", "2026-02-21T02:00:00Z"]
    assert [part.axes for part in split(halves[0], ALL, highest_id=9)] == [("box", "window", "ids")] * 2


def test_a_source_that_cuts_by_ids_alone_leaves_boxes_and_windows_whole() -> None:
    window = "window:2026-02-01T00:00:00Z..2026-03-01T00:00:00Z"
    parts = split(ShardKey.parse(f"ocm/country:DE/{window}"), {"ids"}, highest_id=1000)
    assert [str(part) for part in parts] == [
        f"ocm/country:DE/{window}/ids:0..500",
        f"ocm/country:DE/{window}/ids:500..",
    ]


def test_what_was_cut_by_ids_is_cut_by_ids_again_and_an_open_end_stays_open() -> None:
    shard = ShardKey.parse("ocm/country:DE/full:2026-02-21/ids:500..")
    assert [part["ids"] for part in split(shard, ALL, highest_id=2000)] == ["500..1250", "1250.."]
    assert split(shard, ALL) == ()
    assert split(shard, ALL, highest_id=400) == ()


def test_what_cannot_be_cut_stays_whole() -> None:
    assert split(ShardKey.parse("ocm/country:DE/full:2026-02-21"), {"ids"}) == ()
    assert split(ShardKey.parse("ocm/country:DE/full:2026-02-21/ids:5..6"), {"ids"}) == ()
    assert split(ShardKey.parse("other/box:q1/full:2026-02-21"), set()) == ()
