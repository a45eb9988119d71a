"""The world as a quadtree: every point of a box is in exactly one cell of its cover, at every edge there is."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from waypost.importing.geography import (
    FLOOR_DEPTH,
    MOST_CELLS,
    PLAN_DEPTH,
    BadArea,
    Box,
    Cell,
    cell_of,
    cover,
)
from waypost.scaling.jobs.shard_keys import BadShardKey


def degrees(edge: float) -> st.SearchStrategy[float]:
    """Anywhere, and often on the edge of a cell or right beside it."""
    lines = st.integers(0, 2**PLAN_DEPTH).map(lambda step: -edge + 2 * edge * step / 2**PLAN_DEPTH)
    beside = st.tuples(lines, st.sampled_from([-math.inf, math.inf])).map(lambda pair: math.nextafter(*pair))
    return st.one_of(st.floats(-edge, edge), lines, beside.filter(lambda value: abs(value) <= edge))


lons, lats = degrees(180.0), degrees(90.0)
fractions = st.floats(0, 1)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    south, north = sorted((draw(lats), draw(lats)))
    return Box(draw(lons), south, draw(lons), north)


def a_point_of(box: Box, across: float, up: float) -> tuple[float, float]:
    """A latitude and a longitude in the box, which may cross the antimeridian."""
    lat = min(max(box.south + (box.north - box.south) * up, box.south), box.north)
    if box.west <= box.east:
        return lat, min(max(box.west + (box.east - box.west) * across, box.west), box.east)
    lon = box.west + (box.east + 360 - box.west) * across
    return (lat, min(max(lon, box.west), 180.0)) if lon <= 180 else (lat, min(lon - 360, box.east))


@given(boxes(), fractions, fractions)
@example(Box(170, -10, -170, 10), 0.5, 0.5)
@example(Box(180, 0, -180, 0), 0.0, 0.0)
@example(Box(180, 0, -180, 0), 1.0, 0.0)
@example(Box(10, -90, 9.99, 90), 0.999, 0.5)
@example(Box(-180, -90, 180, 90), 1.0, 1.0)
@example(Box(-180, 90, 180, 90), 0.3, 1.0)
@example(Box(-180, -90, 180, -90), 0.3, 0.0)
@example(Box(0, 0, 0, 0), 0.0, 0.0)
def test_every_point_of_a_box_is_in_exactly_one_of_its_cells(box: Box, across: float, up: float) -> None:
    cells = cover(box)
    corners = [(lat, lon) for lat in (box.south, box.north) for lon in (box.west, box.east)]
    for lat, lon in [a_point_of(box, across, up), *corners]:
        assert sum(cell.holds(lat, lon) for cell in cells) == 1


@given(boxes())
def test_a_cover_is_bounded_ordered_and_always_the_same(box: Box) -> None:
    cells = cover(box)
    assert 1 <= len(cells) <= MOST_CELLS
    assert all(cell.depth <= PLAN_DEPTH for cell in cells)
    assert cells == sorted(cells, key=str) == cover(box)


@given(boxes())
def test_no_cell_of_a_cover_is_inside_another_and_no_four_make_one(box: Box) -> None:
    paths = [cell.path for cell in cover(box)]
    assert not any(one != other and other.startswith(one) for one in paths for other in paths)
    assert not any({path[:-1] + digit for digit in "0123"} <= set(paths) for path in paths if path)


@given(boxes())
def test_every_cell_of_a_cover_touches_the_box(box: Box) -> None:
    for cell in cover(box):
        bounds = cell.bounds
        assert bounds.south <= box.north
        assert box.south <= bounds.north
        assert any(bounds.west <= east and west <= bounds.east for west, east in box.spans())


@given(lats, lons, st.integers(0, FLOOR_DEPTH))
@example(90.0, 180.0, FLOOR_DEPTH)
@example(-90.0, -180.0, FLOOR_DEPTH)
@example(-5e-324, -5e-324, 1)
def test_a_point_is_in_its_cell_with_the_west_and_south_edges_and_no_other_but_the_worlds(
    lat: float, lon: float, depth: int
) -> None:
    bounds = cell_of(lat, lon, depth).bounds
    assert bounds.west <= lon
    assert lon < bounds.east or lon == bounds.east == 180
    assert bounds.south <= lat
    assert lat < bounds.north or lat == bounds.north == 90


@given(lats, lons, st.integers(0, FLOOR_DEPTH - 1))
def test_a_cell_has_the_points_of_its_quarters_and_each_quarter_its_own(lat: float, lon: float, depth: int) -> None:
    cell = cell_of(lat, lon, depth)
    quarters = cell.quarters()
    assert sum(quarter.holds(lat, lon) for quarter in quarters) == 1
    assert all(quarter.path.startswith(cell.path) for quarter in quarters)


@given(st.text("0123", max_size=FLOOR_DEPTH))
def test_a_cell_that_was_written_is_read_again(path: str) -> None:
    cell = Cell(path)
    assert Cell.parse(str(cell)) == cell
    bounds = cell.bounds
    assert cell_of(bounds.south, bounds.west, cell.depth) == cell


@pytest.mark.parametrize("text", ["", "1022", "q4", "Q1", "q1 ", "q1022\n", "q-1", "q²", "q" + "0" * (FLOOR_DEPTH + 1)])
def test_what_is_no_cell_is_refused(text: str) -> None:
    with pytest.raises(BadShardKey, match="is not a cell"):
        Cell.parse(text)


@pytest.mark.parametrize(
    ("cell", "bounds"),
    [
        ("q", Box(-180, -90, 180, 90)),
        ("q0", Box(-180, 0, 0, 90)),
        ("q1", Box(0, 0, 180, 90)),
        ("q2", Box(-180, -90, 0, 0)),
        ("q3", Box(0, -90, 180, 0)),
        ("q1022", Box(0, 45, 22.5, 56.25)),
    ],
)
def test_cells_are_where_the_documentation_says(cell: str, bounds: Box) -> None:
    assert Cell.parse(cell).bounds == bounds


@pytest.mark.parametrize(
    ("box", "cells"),
    [
        ("-180,-90,180,90", ["q"]),
        ("0,0,179,89", ["q1"]),
        ("13.4,52.5,13.4,52.5", ["q1022120312"]),
        ("179.9,-0.1,-179.9,0.1", ["q0222222222", "q1333333333", "q2000000000", "q3111111111"]),
    ],
)
def test_covers_are_as_documented(box: str, cells: list[str]) -> None:
    assert [str(cell) for cell in cover(Box.parse(box))] == cells


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "four numbers"),
        ("1,2,3", "four numbers"),
        ("1,2,3,4,5", "four numbers"),
        ("a,b,c,d", "four numbers"),
        ("nan,0,1,1", "four numbers"),
        ("0,0,inf,1", "four numbers"),
        ("-181,0,1,1", "longitudes"),
        ("0,0,181,1", "longitudes"),
        ("0,-91,1,1", "latitudes"),
        ("0,2,1,1", "lies north"),
    ],
)
def test_what_is_no_box_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadArea, match=reason) as refusal:
        Box.parse(text)
    assert (refusal.value.slug, refusal.value.exit_code, refusal.value.parameter) == ("bad-area", 2, "bbox")


@pytest.mark.parametrize("sides", [(math.nan, 0, 1, 1), (0, math.nan, 1, 1), (0, 0, math.inf, 1), (0, 0, 1, math.nan)])
def test_what_is_no_number_is_no_side_of_a_box(sides: Any) -> None:
    with pytest.raises(BadArea):
        Box(*sides)
