"""A damaged generation is refused when it is opened, and never answers wrongly."""

import json
import math
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.forging import with_right_checksums
from support.snapshots import shelve, stations
from waypost.serving.format import (
    MANIFEST,
    SECTIONS,
    SnapshotBroken,
    SnapshotTooNew,
)
from waypost.serving.reading.query import FIELDS, Query
from waypost.serving.reading.reader import Generation, feature_collection

NOW = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)
PLACES = stations(20)
OTHERS = stations(20, name="Another")


def everything(generation: Generation) -> list[object]:
    """An answer of each kind."""
    queries = (
        Query(),
        Query(box=(-120, -60, 120, 60)),
        Query(box=(100, -90, -100, 90)),
        Query(near=(50, 7)),
        Query(near=(50, 7), radius=5e6),
        Query(text="station koln"),
        Query(text="1"),
        Query(country=("DE", "FR"), operator=("Łódź Power",)),
        Query(category=("charging",), status=("operational",), source=("sim",)),
        Query(power_from=100, updated_from=NOW - timedelta(days=200), updated_to=NOW - timedelta(days=2)),
    )
    return [
        feature_collection(generation.select(Query(), 100), generation.manifest.attribution),
        generation.manifest.sources,
        *[(found := generation.select(query, 100)).join() + bytes(str(found.matched), "ascii") for query in queries],
        *[bytes(generation.get(place.id) or b"") for place in PLACES],
        *[generation.counts(field, query) for field in FIELDS for query in (queries[0], queries[1], queries[4])],
        *[generation.tile(*tile) for tile in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1))],
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    return folder / shelve(folder, PLACES)


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / whole.name))


def replace(path: Path, content: bytes) -> None:
    """A new file under the old name: a mapping of the old one must not change or shrink."""
    path.unlink()
    path.write_bytes(content)


@contextmanager
def damaged(generation: Path, name: str) -> Iterator[bytes]:
    """Lets a test spoil a file and the manifest, and puts both back."""
    file, manifest = (generation / name).read_bytes(), (generation / MANIFEST).read_bytes()
    try:
        yield file
    finally:
        replace(generation / name, file)
        replace(generation / MANIFEST, manifest)


def answers_or_refusal(path: Path) -> list[object] | SnapshotBroken | SnapshotTooNew:
    try:
        return everything(Generation.open(path))
    except (SnapshotBroken, SnapshotTooNew) as refusal:
        return refusal


@settings(deadline=None, max_examples=500)
@given(st.sampled_from([*SECTIONS, MANIFEST, MANIFEST]), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_any_flipped_byte_is_refused_or_harmless(whole: Path, name: str, at: float, flip: int) -> None:
    path = whole / name
    expected = everything(Generation.open(whole))
    with damaged(whole, name) as original:
        flipped = bytearray(original)
        flipped[int(at * len(original))] ^= flip
        replace(path, bytes(flipped))
        answers = answers_or_refusal(whole)
    if name == MANIFEST:
        assert answers == expected or not isinstance(answers, list)
    else:
        assert isinstance(answers, SnapshotBroken)
        assert (answers.path, answers.next_step) == (path, "waypost snapshot build")


def check_disguised(generation: Path, name: str) -> None:
    """Or answers, whatever they are."""
    disguised = with_right_checksums(generation, name)
    try:
        outcome = answers_or_refusal(disguised)
    finally:
        disguised.rename(generation)
    assert not isinstance(outcome, SnapshotBroken) or "checksum" not in str(outcome)


flips = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=4)


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(SECTIONS), flips)
def test_damage_with_a_right_checksum_is_refused_or_leads_nowhere_else(
    whole: Path, name: str, damage: list[tuple[float, int]]
) -> None:
    """Answers may be wrong then; but every question has one, or is refused, and the process lives on."""
    with damaged(whole, name) as original:
        content = bytearray(original)
        for at, flip in damage:
            content[int(at * len(content))] ^= flip
        replace(whole / name, bytes(content))
        check_disguised(whole, name)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(SECTIONS), st.binary(min_size=8, max_size=8), st.floats(0, 1, exclude_max=True))
def test_wrong_numbers_with_a_right_checksum_are_refused_or_lead_nowhere_else(
    whole: Path, name: str, number: bytes, at: float
) -> None:
    with damaged(whole, name) as original:
        where = int(at * len(original)) // 8 * 8
        replace(whole / name, (original[:where] + number + original[where + 8 :])[: len(original)])
        check_disguised(whole, name)


@pytest.mark.parametrize("number", [b"\xff" * 8, b"\x00" * 8, b"\x7f" * 8, struct.pack("<d", math.nan)])
@pytest.mark.parametrize("name", SECTIONS)
def test_wrong_numbers_all_over_a_file_are_refused_or_lead_nowhere_else(copy: Path, name: str, number: bytes) -> None:
    original, manifest = (copy / name).read_bytes(), (copy / MANIFEST).read_bytes()
    for first in (0, 8, 64, 128):
        replace(copy / name, original[:first] + (number * len(original))[: len(original) - first])
        check_disguised(copy, name)
        replace(copy / name, original)
        replace(copy / MANIFEST, manifest)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_file_of_another_generation_is_refused(copy: Path, tmp_path: Path, name: str) -> None:
    other = tmp_path / "others" / shelve(tmp_path / "others", OTHERS)
    stranger = (other / name).read_bytes()
    same = stranger == (copy / name).read_bytes()
    (copy / name).write_bytes(stranger)
    answers = answers_or_refusal(copy)
    assert isinstance(answers, list) if same else isinstance(answers, SnapshotBroken)


@pytest.mark.parametrize(("one", "other"), list(pairwise([*SECTIONS, MANIFEST, SECTIONS[0]])))
def test_two_files_that_changed_places_are_refused(copy: Path, one: str, other: str) -> None:
    (copy / one).rename(copy / "aside")
    (copy / other).rename(copy / one)
    (copy / "aside").rename(copy / other)
    with pytest.raises(SnapshotBroken):
        Generation.open(copy)


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


@pytest.mark.parametrize("version", [0, -1])
def test_a_format_that_is_no_longer_read_is_refused(copy: Path, version: int) -> None:
    rewrite(copy, lambda manifest: manifest.update(format=version))
    with pytest.raises(SnapshotBroken, match=f"format version {version}, which is no longer read") as refusal:
        Generation.open(copy)
    assert refusal.value.next_step == "waypost snapshot build"


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
