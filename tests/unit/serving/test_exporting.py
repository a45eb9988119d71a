"""What is exported is what the generation has, in forms that other programs read."""

import gzip
import json
import os
import tracemalloc
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.snapshots import shelve, stations
from waypost.adapters.exports import geoparquet
from waypost.adapters.sources.files.geoparquet import Geometries
from waypost.adapters.sources.files.wkb import to_geojson
from waypost.bootstrap.snapshots import export_as, open_export
from waypost.places.place import to_feature
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import Shelf


def export(folder: Path, form: str, target: Path) -> None:
    generation = Generation.open(Shelf(folder).find())
    with open_export(str(target)) as file:
        export_as(form)(generation, file, lambda _done: None)


def features(count: int) -> dict[str, Any]:
    found = [json.loads(to_feature(place)) for place in stations(count)]
    return {feature["id"]: feature for feature in found}


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2500])
def test_geojson_is_one_collection(tmp_path: Path, count: int) -> None:
    name = shelve(tmp_path / "snapshots", stations(count))
    export(tmp_path / "snapshots", "geojson", tmp_path / "all.geojson")
    collection = json.loads((tmp_path / "all.geojson").read_bytes())
    assert (collection["type"], collection["generation"]) == ("FeatureCollection", name)
    assert collection["attribution"] == (["Somebody's data"] if count else [])
    assert {feature["id"]: feature for feature in collection["features"]} == features(count)
    assert len(collection["features"]) == count


@pytest.mark.parametrize("count", [0, 1, 1000, 1001])
def test_ndjson_is_a_feature_a_line(tmp_path: Path, count: int) -> None:
    shelve(tmp_path / "snapshots", stations(count))
    export(tmp_path / "snapshots", "ndjson", tmp_path / "all.ndjson")
    lines = (tmp_path / "all.ndjson").read_bytes().splitlines()
    assert len(lines) == count
    assert {feature["id"]: feature for feature in map(json.loads, lines)} == features(count)


def test_names_say_how_files_are_packed(tmp_path: Path) -> None:
    shelve(tmp_path / "snapshots", stations(300))
    for name in ("plain.ndjson", "a.ndjson.gz", "b.ndjson.gz", "c.ndjson.zst"):
        export(tmp_path / "snapshots", "ndjson", tmp_path / name)
    plain = (tmp_path / "plain.ndjson").read_bytes()
    assert gzip.decompress((tmp_path / "a.ndjson.gz").read_bytes()) == plain
    assert (tmp_path / "a.ndjson.gz").read_bytes() == (tmp_path / "b.ndjson.gz").read_bytes()
    with pa.input_stream(str(tmp_path / "c.ndjson.zst"), compression="zstd") as stream:
        assert stream.read() == plain


@pytest.mark.parametrize("count", [0, 1, 2_500])
def test_geoparquet_has_every_place(tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geoparquet, "_ROWS_A_GROUP", 1_000)
    name = shelve(tmp_path / "snapshots", stations(count))
    export(tmp_path / "snapshots", "geoparquet", tmp_path / "all.parquet")
    table = pq.read_table(tmp_path / "all.parquet")
    geo = json.loads(table.schema.metadata[b"geo"])
    assert (geo["version"], geo["primary_column"]) == ("1.1.0", "geometry")
    assert geo["columns"] == {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}}
    assert json.loads(table.schema.metadata[b"waypost"])["generation"] == name
    assert Geometries.read(table.schema).columns == {"geometry"}
    expected = features(count)
    rows = table.to_pylist()
    assert [row["id"] for row in rows] != sorted(row["id"] for row in rows) or count < 2
    assert len(rows) == count
    for row in rows[:500]:
        feature = expected[row["id"]]
        said = feature["properties"]
        assert to_geojson(row["geometry"]) == feature["geometry"]
        for field in ("external_id", "source", "name", "country", "operator", "status", "categories"):
            assert row[field] == said[field]
        assert row["town"] == said["address"].get("town")
        assert (row["power_kw"], row["points"]) == (150.0, 2)
        assert json.loads(row["attributes"]) == said["attributes"]
        moment = said["provider_updated_at"]
        assert row["provider_updated_at"] == (datetime.fromisoformat(moment) if moment else None)


def break_off(target: Path) -> None:
    with open_export(str(target)) as file:
        file.write(b"half of it")
        raise EOFError


def test_a_file_that_could_not_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "all.ndjson"
    target.write_text("old")
    with pytest.raises(EOFError):
        break_off(target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["all.ndjson"]


def test_a_device_is_written_to_and_not_replaced() -> None:
    with open_export(os.devnull) as file:
        file.write(b"anything")
    assert not Path(os.devnull).is_file()


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Some places, and three times as many."""
    folders = [tmp_path_factory.mktemp("shelf") for _ in range(2)]
    for folder, count in zip(folders, (4_000, 12_000), strict=True):
        shelve(folder, stations(count))
    return folders


@pytest.mark.parametrize("form", ["geojson", "ndjson", "geoparquet"])
def test_more_places_do_not_take_more_memory(
    shelves: list[Path], tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geoparquet, "_ROWS_A_GROUP", 2_000)
    peaks = []
    for folder in shelves:
        tracemalloc.start()
        export(folder, form, tmp_path / "all")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]
