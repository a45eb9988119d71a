"""The curve along which rows lie: it goes from neighbour to neighbour, and every map tile is one run of it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.serving.hilbert import EDGE, ORDER, columns, keys, lines, numbers

longitudes = st.sampled_from([-180.0, 0.0, 180.0]) | st.floats(-180, 180)
latitudes = st.sampled_from([-90.0, -EDGE, 0.0, EDGE, 90.0]) | st.floats(-90, 90)


def tile_of(lon: float, lat: float, zoom: int) -> tuple[int, int]:
    """As map clients compute it."""
    lat = min(max(lat, -EDGE), EDGE)
    y = (1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2
    most = 2**zoom - 1
    return min(int((lon + 180) / 360 * 2**zoom), most), min(max(int(y * 2**zoom), 0), most)


def test_it_visits_every_cell_and_steps_only_to_neighbours() -> None:
    cells = np.arange(256)
    x, y = cells % 16, cells // 16
    found = numbers(x, y, 4)
    assert sorted(found.tolist()) == list(range(256))
    visited = np.argsort(found)
    steps = np.abs(np.diff(x[visited])) + np.abs(np.diff(y[visited]))
    assert steps.tolist() == [1] * 255


@given(longitudes, latitudes, st.integers(0, 14))
def test_the_leading_digits_of_a_key_are_the_number_of_the_tile_around_it(lon: float, lat: float, zoom: int) -> None:
    x, y = tile_of(lon, lat, zoom)
    [key] = keys(np.array([lon]), np.array([lat])).tolist()
    [tile] = numbers(np.array([x]), np.array([y]), zoom).tolist()
    [column], [line] = columns(np.array([lon])).tolist(), lines(np.array([lat])).tolist()
    assert column >> (ORDER - zoom) == x
    # On the very edge of a tile the two ways of computing may differ in the last bit.
    assert line >> (ORDER - zoom) == y or min(line % 2 ** (ORDER - zoom), -line % 2 ** (ORDER - zoom)) <= 1
    if line >> (ORDER - zoom) == y:
        assert key >> 2 * (ORDER - zoom) == tile


@pytest.mark.parametrize(("lat", "line"), [(90, 0), (EDGE, 0), (-EDGE, 2**24 - 1), (-90, 2**24 - 1), (0, 2**23)])
def test_what_lies_beyond_the_map_belongs_to_its_edge(lat: float, line: int) -> None:
    assert lines(np.array([lat], dtype=float)).tolist() == [line]
    assert columns(np.array([-180.0, 0.0, 180.0])).tolist() == [0, 2**23, 2**24 - 1]


@given(st.lists(st.tuples(longitudes, latitudes), min_size=1, max_size=30))
def test_a_key_does_not_depend_on_its_neighbours(points: list[tuple[float, float]]) -> None:
    lon, lat = np.array(points).T
    together = keys(lon, lat).tolist()
    assert together == [keys(lon[at : at + 1], lat[at : at + 1])[0] for at in range(len(points))]
