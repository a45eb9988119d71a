"""Snapshots straight from files: what each format brings, in however many parts, and what is said of a bad line."""

import gzip
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.adapters.exports.geoparquet import write_geoparquet
from waypost.adapters.sources.files.formats import FileUnusable
from waypost.adapters.sources.files.places import cut_file, read_part, source_of, to_place
from waypost.places.place import Address, Attributes, Connector, Place, to_feature, to_properties
from waypost.roles.kit.snapshot_build import build_from_files
from waypost.serving.build import Means
from waypost.serving.building.builder import build
from waypost.serving.reading.reader import Generation
from waypost.settings import load_settings

NOW = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)
BOUND = 1 << 20

PLACES = [
    Place(
        external_id=f"ocm:{number}",
        source="ocm",
        name=f" Ladesäule {number} ",
        lat=50 + number / 7,
        lon=8 - number / 3,
        country="DE" if number % 2 else None,
        address=Address("Weg 1", "Köln", None, "50667") if number % 3 else Address(),
        operator="" if number % 5 else None,
        categories=("charging", "charging") if number % 2 else (),
        status="operational",
        attributes=Attributes(
            (Connector("CCS", 150.0, 2),), 150.0 if number % 2 else None, number, {"free": True, "note": "a"}
        )
        if number % 4
        else Attributes(),
        provider_updated_at=datetime(2026, 1, 1, 0, 0, number, number, tzinfo=UTC) if number % 3 else None,
    )
    for number in range(40)
]


def document(place: Place) -> bytes:
    """As `waypost place export` writes it."""
    return msgspec.json.encode({"id": str(place.id), **to_properties(place), "record": {"ID": 1}})


def geoparquet(folder: Path) -> bytes:
    generation = Generation.open(folder / build(PLACES, folder, now=NOW).generation)
    file = io.BytesIO()
    write_geoparquet(generation, file, lambda _rows: None)
    return file.getvalue()


def geojson(features: Sequence[bytes]) -> bytes:
    return b'{"type":"FeatureCollection","features":[' + b",\n".join(features) + b"]}"


FORMS: dict[str, Callable[[Path], bytes]] = {
    "places.ndjson": lambda _: b"\n".join(map(document, PLACES)),
    "features.ndjson": lambda _: b"\n\n".join(map(to_feature, PLACES)) + b"\r\n",
    "features.ndjson.gz": lambda _: gzip.compress(b"\n".join(map(to_feature, PLACES))),
    "features.geojsonseq": lambda _: b"".join(b"\x1e" + to_feature(place) + b"\n" for place in PLACES),
    "features.geojson": lambda _: geojson([to_feature(place) for place in PLACES]),
    "features.json.gz": lambda _: gzip.compress(geojson([to_feature(place) for place in PLACES])),
    "places.parquet": geoparquet,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("wanted", [1, 2, 5, 100])
def test_parts_of_a_file_together_are_its_places_as_they_were(tmp_path: Path, name: str, wanted: int) -> None:
    path = tmp_path / name
    path.write_bytes(FORMS[name](tmp_path / "snapshots"))
    parts = cut_file(path, wanted)
    assert 1 <= len(parts) <= wanted
    found = [place for part in parts for batch in read_part(part, BOUND, 3) for place in batch]
    assert sorted(found, key=lambda place: place.external_id) == sorted(PLACES, key=lambda place: place.external_id)


@pytest.mark.anyio
@pytest.mark.parametrize("name", FORMS)
async def test_a_snapshot_from_a_file_is_the_one_from_the_places(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FORMS[name](tmp_path / "snapshots"))
    told: list[int] = []
    settings = load_settings({"data": str(tmp_path / "data")}, environ={})
    manifest = await build_from_files(settings, [path], told.append, Means(processes=1, memory=10_000))
    assert manifest.sections == build(PLACES, tmp_path / "expected", now=NOW).sections
    assert told[-1] == len(PLACES)
    assert not (tmp_path / "data" / "waypost.db").exists()


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 300), max_size=30),
    st.integers(1, 9),
    st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n \n"]),
    st.sampled_from([b"", b"\n", b"\n\n"]),
)
def test_lines_of_any_length_are_read_once_in_any_number_of_parts(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], wanted: int, ending: bytes, last: bytes
) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.ndjson"
    lines = [b'{"id":%d,"lat":1,"lon":1,"note":"%s"}' % (at, b"x" * length) for at, length in enumerate(lengths)]
    path.write_bytes(ending.join(lines) + last)
    found = [
        place.external_id for part in cut_file(path, wanted) for batch in read_part(part, BOUND) for place in batch
    ]
    assert found == [f"x:{at}" for at in range(len(lengths))]


def feature(properties: Any = None, **more: Any) -> dict[str, Any]:
    point = {"type": "Point", "coordinates": [8, 50.5]}
    return {"type": "Feature", "id": 7, "geometry": point, "properties": properties, **more}


def test_a_feature_of_somebody_elses_becomes_a_place_of_the_files_source() -> None:
    place = to_place(feature({"name": "Bench", "seats": 3, "wood": True, "parts": [1], "colour": None}), "benches")
    assert (place.external_id, place.source, place.name, place.lon, place.lat) == (
        "benches:7",
        "benches",
        "Bench",
        8,
        50.5,
    )
    assert place.attributes.extra == {"seats": 3, "wood": True}
    assert isinstance(place.lon, float)


def test_what_it_says_under_our_names_is_used() -> None:
    said = {
        "source": "city",
        "country": "deu",
        "operator": "Works",
        "categories": ["bench"],
        "status": "closed",
        "address": {"town": "Köln"},
        "attributes": {"power_kw": 11, "lamp": "led"},
        "provider_updated_at": "2026-01-01T01:00:00+01:00",
    }
    assert to_place(feature(said), "benches") == Place(
        external_id="city:7",
        source="city",
        name="Köln",
        lat=50.5,
        lon=8.0,
        country="DE",
        address=Address(town="Köln"),
        operator="Works",
        categories=("bench",),
        status="closed",
        attributes=Attributes(power_kw=11.0, extra={"lamp": "led"}),
        provider_updated_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("benches.geojson", "benches"),
        ("My places (2).ndjson.gz", "My-places-2"),
        ("a.b.parquet", "a.b"),
        ("é.json", "file"),
    ],
)
def test_a_source_is_called_like_its_file(name: str, source: str) -> None:
    assert source_of(Path(name)) == source


GOOD = json.dumps(feature({"name": "Good"})).encode()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"type":"Feature",', "it is not JSON"),
        (b"[1]", "it is not an object"),
        (b'{"type":"Feature","id":1,"geometry":null,"properties":{}}', "it has no position"),
        (b'{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1,2]}}', "it has no id"),
        (b'{"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[1,91]}}', "91.0 is not on Earth"),
        (b'{"id":1,"lat":"nan","lon":1}', "not a number"),
        (b'{"external_id":"a:1","source":"a","name":7,"lat":1,"lon":1}', "name"),
        (b'{"external_id":"a:1","source":"a","name":"A","lat":1,"lon":1,"status":"open"}', "status"),
        (b'{"external_id":"a:1","source":"a","lat":1,"lon":1}', "name"),
    ],
)
@pytest.mark.parametrize("wanted", [1, 3])
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, bad: bytes, reason: str, wanted: int) -> None:
    path = tmp_path / "benches.ndjson"
    path.write_bytes(b"\n".join([GOOD, b"", GOOD, bad, GOOD]) + b"\n")
    with pytest.raises(FileUnusable) as refusal:
        [*(batch for part in cut_file(path, wanted) for batch in read_part(part, BOUND))]
    assert f"{path}, line 4: " in refusal.value.message
    assert reason in refusal.value.message
    assert refusal.value.next_step


def test_a_bad_feature_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "benches.geojson"
    path.write_bytes(geojson([GOOD, GOOD, b'{"type":"Feature","id":1,"geometry":null}']))
    with pytest.raises(FileUnusable, match="record 3: it has no position"):
        [*(batch for part in cut_file(path, 2) for batch in read_part(part, BOUND))]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("gone.geojson", None, "is not there"),
        ("folder.geojson", "folder", "is not there, or is not a file"),
        ("text.txt", b"x", "does not tell its format"),
        ("table.csv", b"id,lat,lon\n", "CSV"),
        ("cut.geojson", GOOD.join([b'{"type":"FeatureCollection","features":[', b""]), "damaged or incomplete"),
        ("cut.parquet", b"PAR1 and no more", "damaged or incomplete"),
        ("cut.ndjson.gz", gzip.compress(GOOD * 100)[:-9], "damaged or incomplete"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: Any, reason: str) -> None:
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content:
        path.write_bytes(content)
    with pytest.raises(FileUnusable, match=reason) as refusal:
        [*(batch for part in cut_file(path, 2) for batch in read_part(part, BOUND))]
    assert str(path) in refusal.value.message
