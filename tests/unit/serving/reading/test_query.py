"""What a generation answers equals what a plain scan of the same places answers."""

import json
import math
import uuid
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.snapshots import generation_of
from waypost.places.place import Place, to_feature
from waypost.serving.format import SECTIONS
from waypost.serving.reading.boxes import BadBox, parse_box
from waypost.serving.reading.query import Query
from waypost.serving.reading.reader import feature_collection

NOW = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)

# Edges often, so that boxes end on places, and anything else sometimes.
longitudes = st.sampled_from([-180.0, -179.5, -0.0, 0.0, 5e-324, 10.0, 10.000001, 179.5, 180.0]) | st.floats(-180, 180)
latitudes = st.sampled_from([-90.0, -89.5, -0.0, 0.0, 5e-324, 50.0, 89.5, 90.0]) | st.floats(-90, 90)
boxes = st.tuples(longitudes, latitudes, longitudes, latitudes).map(
    lambda box: (box[0], min(box[1], box[3]), box[2], max(box[1], box[3]))
)


def place(number: int, lon: float, lat: float) -> Place:
    return Place(external_id=f"sim:{number}", source="sim", name=f"Place {number}", lat=lat, lon=lon, country=None)


places_anywhere = st.lists(st.tuples(longitudes, latitudes), max_size=60).map(
    lambda positions: [place(number, lon, lat) for number, (lon, lat) in enumerate(positions)]
)


def lies_in(place: Place, box: tuple[float, float, float, float]) -> bool:
    west, south, east, north = box
    across = west <= place.lon <= east if west <= east else place.lon >= west or place.lon <= east
    return across and south <= place.lat <= north


def ids_in(collection: bytes) -> list[str]:
    return [feature["id"] for feature in json.loads(collection)["features"]]


@settings(deadline=None)
@given(places_anywhere, st.lists(boxes, min_size=1, max_size=8))
def test_a_box_holds_what_a_plain_scan_finds(
    places: list[Place], asked: list[tuple[float, float, float, float]]
) -> None:
    with generation_of(places) as generation:
        for box in asked:
            expected = {str(place.id) for place in places if lies_in(place, box)}
            answer = generation.select(Query(box=box), 1000)
            assert answer.matched == len(answer.rows) == len(expected)
            assert set(ids_in(feature_collection(answer))) == expected


@settings(deadline=None)
@given(places_anywhere, boxes, st.integers(1, 20))
def test_pages_of_a_box_show_each_place_once_and_in_the_same_order(
    places: list[Place], box: tuple[float, float, float, float], limit: int
) -> None:
    with generation_of(places) as generation:
        whole = generation.select(Query(box=box), 1000)
        rows: list[int] = []
        row: int | None = 0
        while row is not None:
            page = generation.select(Query(box=box), limit, row)
            assert page.matched == whole.matched
            assert len(page.rows) <= limit
            rows += page.rows.tolist()
            row = page.next
        assert rows == sorted(rows) == whole.rows.tolist()


@settings(deadline=None)
@given(places_anywhere, st.uuids())
def test_an_id_leads_to_its_place_and_to_no_other(places: list[Place], stranger: uuid.UUID) -> None:
    with generation_of(places) as generation:
        for place in places:
            assert bytes(generation.get(place.id) or b"") == to_feature(place)
            near = uuid.UUID(int=place.id.int ^ 1)
            assert generation.get(near) is None
        assert generation.get(stranger) is None


@settings(deadline=None)
@given(places_anywhere, st.randoms(use_true_random=False))
def test_the_same_places_give_the_same_bytes_in_any_order(places: list[Place], random: Random) -> None:
    shuffled = random.sample(places, len(places))
    with generation_of(places) as one, generation_of(shuffled) as other:
        assert one.manifest == other.manifest
        assert [(one.path / name).read_bytes() for name in SECTIONS] == [
            (other.path / name).read_bytes() for name in SECTIONS
        ]


def test_neighbouring_rows_are_one_slice_and_the_collection_says_its_counts() -> None:
    crowd = [place(number, 10 + number / 1000, 50) for number in range(50)]
    with generation_of([*crowd, place(99, -70, -30)]) as generation:
        answer = generation.select(Query(box=(9, 49, 11, 51)), 20)
        assert len(answer.chunks()) == 1
        collection = json.loads(feature_collection(answer))
        assert (collection["numberMatched"], collection["numberReturned"]) == (50, 20)
        assert collection["features"] == json.loads(b"[" + answer.join() + b"]")
        assert answer.next == int(answer.rows[-1]) + 1


def test_a_limit_of_zero_only_counts() -> None:
    with generation_of([place(1, 0, 0)]) as generation:
        answer = generation.select(Query(box=(-1, -1, 1, 1)), 0)
        assert (answer.matched, answer.join(), answer.next) == (1, b"", 0)


def test_an_empty_generation_answers_with_nothing() -> None:
    with generation_of([]) as generation:
        generation.warm()
        assert generation.get(uuid.uuid4()) is None
        assert json.loads(feature_collection(generation.select(Query(), 10))) == {
            "type": "FeatureCollection",
            "numberMatched": 0,
            "numberReturned": 0,
            "attribution": [],
            "features": [],
        }


def test_what_was_handed_out_outlives_a_closed_generation_which_answers_no_more() -> None:
    home = place(1, 0, 0)
    with generation_of([home]) as generation:
        feature, answer = generation.get(home.id), generation.select(Query(), 1)
        generation.close()
        assert bytes(feature or b"") == answer.join() == to_feature(home)
        with pytest.raises(ValueError, match="released"):
            generation.get(home.id)
        for ask in (lambda: generation.select(Query(), 1), lambda: generation.tile(0, 0, 0)):
            with pytest.raises(ValueError, match="released"):
                ask()


@pytest.mark.parametrize(
    "box",
    [
        (math.nan, 0, 1, 1),
        (0, math.nan, 1, 1),
        (0, 0, math.inf, 1),
        (0, 0, 1, math.nan),
        (-math.inf, 0, 1, 1),
        (-180.1, 0, 1, 1),
        (0, 0, 181, 1),
        (0, -90.1, 1, 1),
        (0, 0, 1, 91),
        (0, 2, 1, 1),
    ],
)
def test_a_box_that_is_not_on_earth_is_refused(box: tuple[float, float, float, float]) -> None:
    with generation_of([place(1, 0, 0)]) as generation, pytest.raises(BadBox) as refusal:
        generation.select(Query(box=box), 1)
    assert (refusal.value.slug, refusal.value.parameter, refusal.value.http_status) == ("bad-box", "bbox", 400)


@given(boxes)
def test_a_written_box_is_read_back_with_and_without_heights(box: tuple[float, float, float, float]) -> None:
    west, south, east, north = box
    assert parse_box(f"{west},{south},{east},{north}") == box
    assert parse_box(f" {west}, {south}, -5, {east}, {north}, 8.5") == box


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1,2,3",
        "1,2,3,4,5",
        "a,2,3,4",
        "nan,2,3,4",
        "1,2,inf,4",
        "1_0,2,30,4",
        "1,2,1e999,4",
        "\u0661,2,3,4",
        "1,,3,4",
    ],
)
def test_a_box_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadBox):
        parse_box(text)
