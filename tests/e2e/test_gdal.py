"""GDAL's own client reads places as it reads any OGC API Features: all of them, those in a box, those that match."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.processes import Processes
from support.snapshots import shelve, stations

PLACES = stations(640)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("places")
    shelve(folder / "snapshots", PLACES)
    with Processes(folder) as processes:
        yield processes.serve("places", "--data", str(folder))


def gdal(*arguments: str) -> str:
    done = subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "CPL_DEBUG": "ON"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def read(server: str, folder: Path, *arguments: str) -> tuple[dict[str, dict[str, Any]], str]:
    """The properties of what ogr2ogr brings, by external id, and what it said meanwhile."""
    target = folder / "places.geojson"
    said = gdal("ogr2ogr", "-f", "GeoJSON", str(target), f"OAPIF:{server}", "places", *arguments)
    features = msgspec.json.decode(target.read_bytes())["features"]
    found = {feature["properties"]["external_id"]: feature["properties"] for feature in features}
    assert len(found) == len(features)
    return found, said


def test_ogrinfo_knows_the_collection(server: str) -> None:
    said = gdal("ogrinfo", "-so", f"OAPIF:{server}", "places")
    assert "Geometry: Point" in said
    assert f"Feature Count: {len(PLACES)}" in said
    for field in ("name: String", "country: String", "provider_updated_at: DateTime"):
        assert field in said


@pytest.mark.parametrize("size", ["50", "1000"])
def test_ogr2ogr_reads_all_pages(server: str, tmp_path: Path, size: str) -> None:
    found, said = read(server, tmp_path, "-oo", f"PAGE_SIZE={size}")
    assert set(found) == {place.external_id for place in PLACES}
    assert ("cursor=" in said) is (size == "50")
    some = found["sim:7"]
    assert (some["name"], some["country"], some["status"]) == ("Station 7", "FR", "operational")


def test_a_spatial_filter_is_answered_by_the_server(server: str, tmp_path: Path) -> None:
    found, said = read(server, tmp_path, "-spat", "-20", "-30", "60", "45", "-oo", "PAGE_SIZE=100")
    assert set(found) == {place.external_id for place in PLACES if -20 <= place.lon <= 60 and -30 <= place.lat <= 45}
    assert "bbox=-20,-30,60,45" in said


def test_an_attribute_filter_is_answered_by_the_server(server: str, tmp_path: Path) -> None:
    found, said = read(server, tmp_path, "-where", "country = 'DE' AND status = 'operational'", "-oo", "PAGE_SIZE=100")
    assert set(found) == {place.external_id for place in PLACES if place.country == "DE"}
    assert "country=DE" in said
    assert "status=operational" in said


def test_a_filter_by_time_is_answered_by_the_server(server: str, tmp_path: Path) -> None:
    since = "2026-10-01T00:00:00Z"
    found, said = read(server, tmp_path, "-where", f"provider_updated_at >= '{since}'", "-oo", "PAGE_SIZE=100")
    assert set(found) == {
        place.external_id
        for place in PLACES
        if place.provider_updated_at and place.provider_updated_at.isoformat() >= "2026-10-01"
    }
    assert f"datetime={since}" in said


def test_tiles_are_read_too(server: str) -> None:
    said = gdal("ogrinfo", "-so", f"MVT:{server}/tiles/0/0/0.mvt", "places")
    assert "Feature Count: " in said
    assert "point_count: Integer" in said
