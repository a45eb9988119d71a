"""Every question to a generation brings what a plain scan of the same places brings."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from support.plain_scan import (
    MORNING,
    boxes,
    distance,
    latitudes,
    longitudes,
    meets,
    places_anywhere,
    places_of,
    queries,
)
from support.snapshots import generation_of, stations
from waypost.places.place import Place, to_feature
from waypost.serving.building.builder import build
from waypost.serving.reading import conditions, inside, nearest, rowsets, selecting
from waypost.serving.reading.query import BadQuery, Query
from waypost.serving.reading.reader import Generation
from waypost.serving.reading.selected import Selected

# Half a turn around the globe the formula for distances has half of its digits.
CLOSE = 0.3
ALL = 1000

a_few_queries = st.lists(queries, min_size=1, max_size=8)
points = st.tuples(latitudes, longitudes)
radii = st.sampled_from([0.0, 1.0, 60_000.0, 1e6, 1.5e7, 3e7])


@pytest.fixture(scope="module", autouse=True, params=["as it is", "as if few places were many"])
def _bounds(request: pytest.FixtureRequest) -> Iterator[None]:
    """The ways for many places are gone with few places, too."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "as it is":
            for module in (inside, selecting, nearest):
                patch.setattr(module, "MANY", 0)
            patch.setattr(inside, "_STEP", 3)
            patch.setattr(conditions, "_STEP", 3)
            patch.setattr(conditions, "_FEW_SETS", 1)
            patch.setattr(rowsets, "_MANY", 3)
            patch.setattr(selecting, "MOST_WALKED", 7)
            patch.setattr(nearest, "_FEW", 2)
            patch.setattr(nearest, "_MOST_NEIGHBOURS", 3)
        yield


Crowd = tuple[list[Place], Generation]


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    """So many places that every way of finding them is taken, built once."""
    places = places_of(120, seed=6)
    with generation_of(places) as generation:
        yield places, generation


def pages(generation: Generation, query: Query, limit: int) -> Iterator[Selected]:
    start: int | None = 0
    while start is not None:
        page = generation.select(query, limit, start)
        assert len(page.rows) <= limit
        assert page.next is None or page.next > start
        yield page
        start = page.next


def ids_of(generation: Generation, selected: Selected) -> list[Any]:
    return [generation.row_id(row) for row in selected.rows.tolist()]


def check_query(places: list[Place], generation: Generation, query: Query) -> None:
    """Pages of any size lead to what a plain scan finds, in the order of rows, as the bytes of the features."""
    expected = {place.id: place for place in places if meets(place, query)}
    for limit in (ALL, 1, 3, 7):
        rows: list[int] = []
        for page in pages(generation, query, limit):
            assert page.matched in {len(expected), None}
            assert page.join() == b",".join(to_feature(expected[each]) for each in ids_of(generation, page))
            assert all(isinstance(chunk, memoryview) for chunk in page.chunks())
            rows += page.rows.tolist()
        assert rows == sorted(set(rows))
        assert {generation.row_id(row) for row in rows} == set(expected)


@settings(deadline=None, max_examples=200)
@given(queries)
def test_a_query_brings_what_a_plain_scan_finds(crowd: Crowd, query: Query) -> None:
    check_query(*crowd, query)


@settings(deadline=None, max_examples=20)
@given(places_anywhere, a_few_queries)
def test_it_does_so_with_any_places(places: list[Place], asked: list[Query]) -> None:
    with generation_of(places) as generation:
        for query in asked:
            check_query(places, generation, query)


@settings(deadline=None, max_examples=20)
@given(queries)
def test_every_page_size_leads_to_the_same_rows(crowd: Crowd, query: Query) -> None:
    places, generation = crowd
    whole = [row for page in pages(generation, query, ALL) for row in page.rows.tolist()]
    for limit in range(1, len(places) + 2):
        assert [row for page in pages(generation, query, limit) for row in page.rows.tolist()] == whole


def check_nearest(places: list[Place], generation: Generation, query: Query, found: Selected, limit: int) -> None:
    """What is nearest, up to the precision of distances."""
    assert query.near is not None
    assert found.metres is not None
    by_id, ids = {place.id: place for place in places}, ids_of(generation, found)
    radius = float("inf") if query.radius is None else query.radius
    away = {place.id: distance(place, query.near) for place in places if meets(place, query)}
    assert len(set(ids)) == len(ids) <= limit
    for place_id, metres in zip(ids, found.metres.tolist(), strict=True):
        assert abs(distance(by_id[place_id], query.near) - metres) < CLOSE
        assert metres <= radius
        assert place_id in away
    order = list(zip(found.metres.tolist(), found.rows.tolist(), strict=True))
    assert order == sorted(order)
    left = [metres for place_id, metres in away.items() if place_id not in ids and metres <= radius - CLOSE]
    if len(ids) < limit:
        assert left == []
    elif left and order:
        assert min(left) > order[-1][0] - CLOSE


def check_near(
    places: list[Place], generation: Generation, query: Query, near: tuple[float, float], radius: float | None
) -> None:
    around = with_point(query, near, radius)
    for limit in (0, 1, 10, ALL):
        found = generation.select(around, limit)
        check_nearest(places, generation, around, found, limit)
        if found.matched is not None and radius is None:
            assert found.matched == sum(meets(place, query) for place in places)
    whole = generation.select(around, ALL).rows.tolist()
    for limit in (5, 40):
        assert [row for page in pages(generation, around, limit) for row in page.rows.tolist()] == whole


@settings(deadline=None, max_examples=60)
@given(st.just(Query()) | queries, points, st.none() | radii)
def test_the_nearest_are_those_of_a_plain_scan_and_go_on_page_by_page(
    crowd: Crowd, query: Query, near: tuple[float, float], radius: float | None
) -> None:
    check_near(*crowd, query, near, radius)


@settings(deadline=None, max_examples=20)
@given(places_anywhere, queries, st.lists(points, min_size=1, max_size=5), st.none() | radii)
def test_they_are_so_with_any_places(
    places: list[Place], query: Query, asked: list[tuple[float, float]], radius: float | None
) -> None:
    with generation_of(places) as generation:
        for near in asked:
            check_near(places, generation, Query(), near, radius)
            check_near(places, generation, query, near, radius)


def test_beyond_the_last_of_the_nearest_there_is_nothing_also_where_places_have_several_of_the_values() -> None:
    places = [msgspec.structs.replace(place, categories=("charging", "parking")) for place in stations(9)]
    with generation_of(places) as generation:
        query = Query(category=("charging", "parking"), near=(0, 0))
        for start, expected in ((0, 9), (8, 1), (9, 0), (10**9, 0)):
            found = generation.select(query, ALL, start)
            assert (len(found.rows), found.next) == (expected, None)


def with_point(query: Query, near: tuple[float, float], radius: float | None) -> Query:
    fields = {name: getattr(query, name) for name in query.__struct_fields__}
    return Query(**(fields | {"near": near, "radius": radius}))


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        ((0.0, 179.9), ["west of it", "just beyond it", "far from it"]),
        ((0.0, -179.95), ["just beyond it", "west of it", "far from it"]),
        ((89.9, 100.0), ["at the pole", "beyond the pole", "far north"]),
        ((-90.0, 0.0), ["south", "far from it", "just beyond it"]),
    ],
)
def test_the_antimeridian_and_the_poles_are_no_borders(near: tuple[float, float], expected: list[str]) -> None:
    positions = {
        "west of it": (0.0, 179.8),
        "just beyond it": (0.0, -179.99),
        "far from it": (-10.0, 170.0),
        "at the pole": (90.0, -17.0),
        "beyond the pole": (89.8, -80.0),
        "far north": (80.0, 100.0),
        "south": (-80.0, 45.0),
    }
    places = [
        Place(external_id=f"sim:{name}", source="sim", name=name, lat=lat, lon=lon, country=None)
        for name, (lat, lon) in positions.items()
    ]
    names = {place.id: place.name for place in places}
    with generation_of(places) as generation:
        found = generation.select(Query(near=near), 3)
        assert [names[place_id] for place_id in ids_of(generation, found)] == expected


@settings(deadline=None, max_examples=100)
@given(st.just(Query()) | queries, st.none() | points, radii)
def test_counts_are_those_of_a_plain_scan(
    crowd: Crowd, query: Query, near: tuple[float, float] | None, radius: float
) -> None:
    places, generation = crowd
    meant = [place for place in places if meets(place, query)]
    if near is not None:
        query = with_point(query, near, radius)
        away = [distance(place, near) - radius for place in meant]
        assume(all(abs(metres) > CLOSE for metres in away))
        meant = [place for place, metres in zip(meant, away, strict=True) if metres < 0]
    expected: dict[str, Counter[str]] = {
        "country": Counter(place.country for place in meant if place.country),
        "operator": Counter(place.operator for place in meant if place.operator),
        "category": Counter(category for place in meant for category in set(place.categories)),
        "status": Counter(place.status for place in meant),
        "source": Counter(place.source for place in meant),
    }
    for field, numbers in expected.items():
        ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0].encode()))
        assert generation.counts(field, query) == ordered
        assert generation.counts(field, query, limit=1) == ordered[:1]


@settings(deadline=None, max_examples=50)
@given(boxes, st.integers(0, 200))
def test_a_start_anywhere_and_a_limit_of_nothing_are_fine(
    crowd: Crowd, box: tuple[float, float, float, float], start: int
) -> None:
    _, generation = crowd
    for query in (Query(), Query(box=box)):
        rows = [row for page in pages(generation, query, ALL) for row in page.rows.tolist()]
        later = generation.select(query, ALL, start)
        assert [row for row in rows if row >= start][: len(later.rows)] == later.rows.tolist()
        assert generation.select(query, 0, start).rows.tolist() == []
        assert generation.select(query, ALL, 2**40).rows.tolist() == []


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        (Query(near=(91, 0)), "near"),
        (Query(near=(0, float("nan"))), "near"),
        (Query(radius=5), "radius"),
        (Query(near=(0, 0), radius=-1), "radius"),
        (Query(near=(0, 0), radius=float("inf")), "radius"),
        (Query(text="a" * 201), "q"),
        (Query(text="a b c d e f g h i j k"), "q"),
        (Query(text="-- !"), "q"),
        (Query(text=""), "q"),
        (Query(power_from=float("nan")), "power_from"),
        (Query(updated_from=datetime(2026, 1, 1)), "datetime"),  # noqa: DTZ001 - the zone is what is missing
        (Query(updated_to=datetime(2026, 1, 1)), "datetime"),  # noqa: DTZ001 - the zone is what is missing
        (Query(country=tuple("A" * 101)), "country"),
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_parameter(query: Query, parameter: str) -> None:
    with generation_of([]) as generation, pytest.raises(BadQuery) as refusal:
        generation.select(query, 1)
    assert (refusal.value.slug, refusal.value.parameter, refusal.value.http_status) == ("bad-query", parameter, 400)


def test_a_field_that_is_not_counted_is_refused() -> None:
    with generation_of([]) as generation:
        with pytest.raises(BadQuery, match="not by 'words'"):
            generation.counts("words", Query())
        assert generation.counts("status", Query(status=("closed",))) == []


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    folder = tmp_path_factory.mktemp("snapshots")
    return Generation.open(folder / build([], folder, now=MORNING).generation)


@example("lodz\ud800")
@given(st.text(max_size=30))
def test_any_text_is_answered_or_refused(nowhere: Generation, text: str) -> None:
    with suppress(BadQuery):
        assert nowhere.select(Query(text=text, operator=(text,)), 1).matched == 0
