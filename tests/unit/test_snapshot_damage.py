"""A damaged generation is refused when it is opened, and never answers wrongly."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.places.place import Place
from waypost.serving.builder import build
from waypost.serving.format import MANIFEST, SECTIONS, SnapshotBroken, SnapshotTooNew
from waypost.serving.reader import Generation, feature_collection

NOW = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)
PLACES = [
    Place(external_id=f"sim:{at}", source="sim", name=f"Place {at}", lat=at, lon=at, country=None) for at in range(20)
]


def everything(generation: Generation) -> bytes:
    return feature_collection(generation.box(-180, -90, 180, 90, limit=100))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    return folder / build(PLACES, folder, now=NOW, attribution={"sim": "Somebody's data"}).generation


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / whole.name))


def replace(path: Path, content: bytes) -> None:
    """A new file under the old name: a mapping of the old one must not change or shrink."""
    path.unlink()
    path.write_bytes(content)


def answer_or_refusal(path: Path) -> bytes | SnapshotBroken | SnapshotTooNew:
    try:
        return everything(Generation.open(path))
    except (SnapshotBroken, SnapshotTooNew) as refusal:
        return refusal


@settings(deadline=None, max_examples=500)
@given(st.sampled_from([*SECTIONS, MANIFEST, MANIFEST]), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_any_flipped_byte_is_refused_or_harmless(whole: Path, name: str, at: float, flip: int) -> None:
    path = whole / name
    expected, original = everything(Generation.open(whole)), path.read_bytes()
    flipped = bytearray(original)
    flipped[int(at * len(original))] ^= flip
    replace(path, bytes(flipped))
    try:
        answer = answer_or_refusal(whole)
    finally:
        replace(path, original)
    if name == MANIFEST:
        assert answer == expected or not isinstance(answer, bytes)
    else:
        assert isinstance(answer, SnapshotBroken)
        assert (answer.path, answer.next_step) == (path, "waypost snapshot build")


@pytest.mark.parametrize("name", [*SECTIONS, MANIFEST])
def test_a_short_file_is_refused_by_its_name(copy: Path, name: str) -> None:
    encoded = (copy / name).read_bytes()
    for size in (0, 1, len(encoded) // 2, len(encoded) - 2):
        (copy / name).write_bytes(encoded[:size])
        with pytest.raises(SnapshotBroken, match=name) as refusal:
            Generation.open(copy)
        assert (refusal.value.slug, refusal.value.next_step) == ("snapshot-broken", "waypost snapshot build")


@pytest.mark.parametrize("name", [*SECTIONS, MANIFEST])
def test_a_missing_or_unreadable_file_is_refused_by_its_name(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(SnapshotBroken, match=f"{name} is missing"):
        Generation.open(copy)
    (copy / name).mkdir()
    with pytest.raises(SnapshotBroken, match=f"{name} cannot be read"):
        Generation.open(copy)


def test_a_generation_under_another_name_is_refused(copy: Path) -> None:
    with pytest.raises(SnapshotBroken, match="another generation"):
        Generation.open(copy.rename(copy.with_name("20251115T091500Z-00000000")))


def rewrite(generation: Path, change: Callable[[Any], None]) -> None:
    manifest = json.loads((generation / MANIFEST).read_bytes())
    change(manifest)
    (generation / MANIFEST).write_text(json.dumps(manifest))


def test_a_later_format_is_refused_whatever_its_manifest_looks_like(copy: Path) -> None:
    (copy / MANIFEST).write_text('{"format": 7, "count": "many"}')
    with pytest.raises(SnapshotTooNew, match="format version 7") as refusal:
        Generation.open(copy)
    assert refusal.value.slug == "snapshot-too-new"


def test_a_format_from_before_the_first_is_refused(copy: Path) -> None:
    rewrite(copy, lambda manifest: manifest.update(format=-1))
    with pytest.raises(SnapshotBroken, match="impossible"):
        Generation.open(copy)


@pytest.mark.parametrize("count", [-1, 0, 19, 21, 2**62])
def test_a_count_that_does_not_fit_the_sections_is_refused(copy: Path, count: int) -> None:
    rewrite(copy, lambda manifest: manifest.update(count=count))
    with pytest.raises(SnapshotBroken, match="places take"):
        Generation.open(copy)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_that_the_manifest_does_not_know_is_refused(copy: Path, name: str) -> None:
    rewrite(
        copy,
        lambda manifest: manifest.update(
            sections=[section for section in manifest["sections"] if section["name"] != name]
        ),
    )
    with pytest.raises(SnapshotBroken, match=f"{name} is not in the manifest"):
        Generation.open(copy)
