"""What is told about the generations on a shelf, and which of them do not hold together."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.forging import with_right_checksums
from support.snapshots import shelve, station, stations
from waypost.cli.frame import read_aloud
from waypost.places.place import Place
from waypost.serving.checking import check_rows
from waypost.serving.differences import differences
from waypost.serving.format import FEATURES, IDS, MANIFEST, OFFSETS, SLOTS, SnapshotBroken
from waypost.serving.overview import NoOlderGeneration, before_current, describe, list_generations
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import CURRENT, Shelf


def ignore(_done: int) -> None:
    pass


def test_generations_are_listed_with_the_current_one_marked(tmp_path: Path) -> None:
    assert list_generations(Shelf(tmp_path / "nowhere")) == []
    names = [shelve(tmp_path, stations(count), hours=count) for count in (1, 2, 3)]
    Shelf(tmp_path).use(names[1])
    (tmp_path / names[0] / MANIFEST).write_bytes(b"rubbish")
    first, second, third = list_generations(Shelf(tmp_path))
    assert (first.generation, first.current, first.places) == (names[0], False, None)
    assert MANIFEST in str(first.problem)
    assert (second.generation, second.current, second.places) == (names[1], True, 2)
    assert second.size == sum(path.stat().st_size for path in (tmp_path / names[1]).iterdir())
    assert (third.current, third.problem) == (False, None)
    (tmp_path / CURRENT).write_bytes(b"rubbish")
    assert [each.current for each in list_generations(Shelf(tmp_path))] == [False] * 3


def test_a_generation_is_described(tmp_path: Path) -> None:
    old, new = shelve(tmp_path, stations(1)), shelve(tmp_path, stations(2), hours=1)
    shelf = Shelf(tmp_path)
    assert (describe(shelf, None).manifest.generation, describe(shelf, None).current) == (new, True)
    described = describe(shelf, old)
    assert (described.manifest.count, described.current, described.path) == (1, False, str(tmp_path / old))
    assert described.manifest.attribution == ("Somebody's data",)


def test_the_one_before_is_the_next_older_of_the_current_one(tmp_path: Path) -> None:
    names = [shelve(tmp_path, stations(count), hours=count) for count in (1, 2, 3)]
    shelf = Shelf(tmp_path)
    assert before_current(shelf).name == names[1]
    shelf.use(names[0])
    with pytest.raises(NoOlderGeneration):
        before_current(shelf)


@pytest.mark.parametrize("count", [0, 1, 2500])
def test_what_the_builder_makes_is_whole(tmp_path: Path, count: int) -> None:
    shelve(tmp_path, stations(count))
    seen: list[int] = []
    check_rows(Generation.open(Shelf(tmp_path).find()), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == count


def forge(generation: Path, name: str, change: Callable[[bytearray], object]) -> Path:
    """Changes a file, and the manifest and the name with it: as a builder would that errs."""
    content = bytearray((generation / name).read_bytes())
    change(content)
    (generation / name).unlink()
    (generation / name).write_bytes(content)
    return with_right_checksums(generation, name)


def swap_rows(content: bytearray) -> None:
    content[:16], content[16:32] = content[16:32], content[:16]


def swap_offsets(content: bytearray) -> None:
    content[8:16], content[16:24] = content[16:24], content[8:16]


def spoil_json(content: bytearray) -> None:
    content[0] = ord("[")


def empty_slots(content: bytearray) -> None:
    content[:] = bytes(len(content))


def shorten_last(content: bytearray) -> None:
    last = np.frombuffer(content, dtype="<u8")[-1] - 1
    content[-8:] = last.tobytes()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (IDS, swap_rows),
        (OFFSETS, swap_offsets),
        (OFFSETS, shorten_last),
        (FEATURES, spoil_json),
        (SLOTS, empty_slots),
    ],
)
def test_errors_that_have_checksums_are_found(tmp_path: Path, name: str, change: Callable[[bytearray], object]) -> None:
    path = forge(tmp_path / shelve(tmp_path, stations(50)), name, change)
    with pytest.raises(SnapshotBroken) as refusal:
        check_rows(Generation.open(path), ignore)
    assert refusal.value.path == path / name


def known(places: list[Place]) -> dict[str, Place]:
    return {str(place.id): place for place in places}


variants = st.dictionaries(st.integers(0, 30), st.sampled_from(["A", "B"]), max_size=20)


@settings(max_examples=40)
@given(variants, variants)
def test_differences_are_those_of_the_places(tmp_path_factory: pytest.TempPathFactory, a: object, b: object) -> None:
    before, after = (
        [station(number, name=name) for number, name in msgspec.convert(each, dict[int, str]).items()]
        for each in (a, b)
    )
    folder = tmp_path_factory.mktemp("snapshots")
    try:
        first = folder / shelve(folder, before)
        second = folder / shelve(folder, after, hours=1)
        changes = differences(Generation.open(first), Generation.open(second), ignore)
        found = {(each.change, str(each.id)) for each in changes}
    finally:
        shutil.rmtree(folder)
    old, new = known(before), known(after)
    assert found == {
        *(("added", each) for each in new.keys() - old.keys()),
        *(("removed", each) for each in old.keys() - new.keys()),
        *(("changed", each) for each in old.keys() & new.keys() if old[each] != new[each]),
    }


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (5 * 1024**5, "5120.0 TiB"),
    ],
)
def test_sizes_are_read_aloud(size: int, text: str) -> None:
    assert read_aloud(size) == text
