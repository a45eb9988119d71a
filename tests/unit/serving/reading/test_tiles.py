"""Map tiles: each place is on one tile of each zoom level, by itself or in a cluster, and where it belongs."""

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.plain_scan import latitudes, longitudes, places_anywhere
from support.snapshots import generation_of
from support.vector_tiles import Point, read_tile
from waypost.places.place import Address, Attributes, Connector, Place
from waypost.serving.hilbert import numbers
from waypost.serving.reading import tiles
from waypost.serving.reading.tiles import BadTile, tile_number

EDGE = 85.0511287798066

# Few different ones, so that many are in one cell.
crowds = st.lists(
    st.tuples(
        st.sampled_from([10.0, 10.0001, 10.3, -120.0]) | longitudes, st.sampled_from([50.0, 50.2, 86.0]) | latitudes
    ),
    max_size=80,
).map(lambda points: [at(number, lon, lat) for number, (lon, lat) in enumerate(points)])


def at(number: int, lon: float, lat: float) -> Place:
    return Place(external_id=f"sim:{number}", source="sim", name=f"Place {number}", lat=lat, lon=lon, country=None)


@contextmanager
def few_are_many(most_single: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "MOST_SINGLE", most_single)
        yield


def points_of(encoded: bytes) -> list[Point]:
    if not encoded:
        return []
    [layer] = read_tile(encoded)
    assert (layer.name, layer.version, layer.extent) == ("places", 2, 4096)
    assert all(0 <= point.x < 4096 and 0 <= point.y < 4096 for point in layer.points)
    assert layer.points
    return layer.points


def position(place: Place, zoom: int) -> tuple[float, float]:
    """In tiles from the map's upper left corner."""
    y = (1 - math.asinh(math.tan(math.radians(place.lat))) / math.pi) / 2
    return (place.lon + 180) / 360 * 2**zoom, y * 2**zoom


def on_map(places: list[Place]) -> list[Place]:
    return [place for place in places if abs(place.lat) <= EDGE]


def tiles_around(places: list[Place], zoom: int) -> set[tuple[int, int]]:
    """All tiles of a low zoom level; of a high one those near places: on a border, rounding decides."""
    last = 2**zoom - 1
    if zoom <= 4:
        return set(itertools.product(range(last + 1), range(last + 1)))
    found = set()
    for place in places:
        lat = max(-EDGE, min(EDGE, place.lat))
        x, y = position(at(0, place.lon, lat), zoom)
        for across, down in itertools.product((-1e-6, 1e-6), repeat=2):
            found.add((max(0, min(last, int(x + across))), max(0, min(last, int(y + down)))))
    return found


@settings(deadline=None, max_examples=60)
@given(places_anywhere | crowds, st.integers(0, 24), st.sampled_from([0, 3, 500]))
def test_each_place_is_on_one_tile_of_a_zoom_level(places: list[Place], zoom: int, most_single: int) -> None:
    shown = {str(place.id): place for place in on_map(places)}
    with generation_of(places) as generation, few_are_many(most_single):
        singles: list[str] = []
        clustered = 0
        for x, y in tiles_around(places, zoom):
            for point in points_of(generation.tile(zoom, x, y)):
                if "point_count" in point.properties:
                    assert point.properties["point_count"] > 1
                    clustered += point.properties["point_count"]
                else:
                    singles.append(point.properties["id"])
                    across, down = position(shown[singles[-1]], zoom)
                    assert abs((x + (point.x + 0.5) / 4096) - across) * 4096 <= 0.51
                    assert abs((y + (point.y + 0.5) / 4096) - down) * 4096 <= 0.51
    assert len(set(singles)) == len(singles)
    assert set(singles) <= set(shown)
    assert len(singles) + clustered == len(shown)
    if most_single == 500:
        assert not clustered


@settings(deadline=None, max_examples=40)
@given(crowds, st.integers(0, 24), st.sampled_from([0, 5]))
def test_a_cluster_stands_in_the_middle_of_what_its_cell_holds(
    places: list[Place], zoom: int, most_single: int
) -> None:
    """With as many samples as places it is their mean, and never leaves its cell."""
    with generation_of(places) as generation, few_are_many(most_single), pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "_SAMPLE", 100)
        cells = 2 ** min(5, 24 - zoom)
        for x, y in tiles_around(places, zoom):
            expected: dict[tuple[int, int], list[tuple[float, float]]] = {}
            for place in on_map(places):
                across, down = position(place, zoom)
                in_tile = min(2**zoom - 1e-9, across) - x, down - y
                if 0 <= in_tile[0] < 1 and 0 <= in_tile[1] < 1:
                    cell = int(in_tile[0] * cells), int(in_tile[1] * cells)
                    expected.setdefault(cell, []).append((in_tile[0] * 4096, in_tile[1] * 4096))
            for point in points_of(generation.tile(zoom, x, y)):
                if count := point.properties.get("point_count"):
                    inside = expected.get((point.x * cells // 4096, point.y * cells // 4096), [])
                    # On the border of a cell, rounding decides.
                    if len(inside) == count:
                        assert abs(sum(each[0] for each in inside) / count - point.x) <= 1.01
                        assert abs(sum(each[1] for each in inside) / count - point.y) <= 1.01


def test_a_single_place_says_what_a_map_shows_and_nothing_it_does_not_know() -> None:
    known = Place(
        external_id="sim:1",
        source="sim",
        name="Łódź Główna",
        lat=51.77,
        lon=19.46,
        country="PL",
        address=Address(town="Łódź"),
        operator="Ionity",
        status="operational",
        attributes=Attributes(connectors=(Connector("CCS", 22.1, 2),), power_kw=22.1, points=2),
    )
    bare = at(2, -70.0, -30.0)
    odd = Place(
        external_id="sim:3",
        source="sim",
        name="Odd",
        lat=0,
        lon=0,
        country=None,
        attributes=Attributes(extra={"power_kw": "a lot"}),
    )
    with generation_of([known, bare, odd]) as generation:
        told = {point.properties["id"]: point.properties for point in points_of(generation.tile(0, 0, 0))}
    assert told[str(known.id)] == {
        "id": str(known.id),
        "name": "Łódź Główna",
        "status": "operational",
        "power_kw": 22.1,
        "country": "PL",
        "operator": "Ionity",
    }
    assert told[str(bare.id)] == {"id": str(bare.id), "name": "Place 2", "status": "unknown"}
    assert told[str(odd.id)] == {"id": str(odd.id), "name": "Odd", "status": "unknown"}


def test_a_large_cluster_stands_near_its_places_and_a_tile_of_clusters_is_small() -> None:
    crowd = [at(number, 10 + number % 40 / 1000, 50 + number // 40 / 1000) for number in range(1600)]
    with generation_of(crowd) as generation:
        [point] = points_of(generation.tile(0, 0, 0))
        assert point.properties == {"point_count": 1600}
        x, y = position(at(0, 10.02, 50.02), 0)
        assert (abs(point.x - x * 4096), abs(point.y - y * 4096)) < (1.5, 1.5)
        shown = points_of(generation.tile(12, int(position(crowd[800], 12)[0]), int(position(crowd[800], 12)[1])))
        assert len(shown) <= 1024


def test_where_nothing_is_a_tile_is_empty() -> None:
    with generation_of([at(1, 10, 50)]) as generation:
        assert generation.tile(1, 0, 1) == b""
        assert generation.tile(1, 1, 0) != b""
        # Drawn once, and then remembered.
        assert generation.tile(1, 1, 0) == generation.tile(1, 1, 0)
    with generation_of([]) as generation:
        assert generation.tile(0, 0, 0) == b""
    with generation_of([at(1, 10, 89), at(2, 10, -86)]) as generation:
        assert [generation.tile(0, 0, 0), generation.tile(1, 1, 0), generation.tile(1, 1, 1)] == [b"", b"", b""]


@pytest.mark.parametrize(
    ("tile", "parameter"),
    [((-1, 0, 0), "z"), ((25, 0, 0), "z"), ((0, 1, 0), "x"), ((3, -1, 0), "x"), ((3, 8, 0), "x"), ((3, 7, 8), "y")],
)
def test_a_tile_that_is_not_is_refused_by_the_name_of_its_parameter(tile: tuple[int, int, int], parameter: str) -> None:
    with generation_of([]) as generation, pytest.raises(BadTile) as refusal:
        generation.tile(*tile)
    assert (refusal.value.slug, refusal.value.parameter, refusal.value.http_status) == ("bad-tile", parameter, 400)


@given(st.integers(0, 24), st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1))
def test_the_number_of_a_tile_is_that_of_its_cell_on_the_curve(zoom: int, x: int, y: int) -> None:
    x, y = x >> (24 - zoom), y >> (24 - zoom)
    assert tile_number(zoom, x, y) == numbers(np.array([x]), np.array([y]), zoom)[0]
