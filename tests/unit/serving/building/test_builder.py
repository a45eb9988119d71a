"""Building and publishing: whole or not at all, side by side, and with the disk full."""

import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from waypost.places.place import Place
from waypost.serving.building.builder import SnapshotBuilder, build
from waypost.serving.format import FEATURES, SECTIONS, SnapshotNotWritten, UnusablePlace
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import Shelf

NOW = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
MUCH_LATER = NOW + timedelta(hours=2)


def places(count: int, name: str = "Place") -> list[Place]:
    return [
        Place(external_id=f"sim:{at}", source="sim", name=f"{name} {at}", lat=at % 90, lon=at % 180, country=None)
        for at in range(count)
    ]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".building-*")) + [path.name for path in folder.glob("*.tmp")]


def test_a_built_generation_is_current_and_says_where_it_comes_from(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    manifest = build(places(3), folder, now=NOW, attribution={"sim": "Somebody's data, CC BY 4.0", "other": "?"})
    assert Shelf(folder).current() == folder / manifest.generation
    assert manifest.generation.startswith("20261115T091500Z-")
    assert (manifest.count, manifest.sources, manifest.created_at) == (3, ("sim",), NOW)
    assert manifest.attribution == ("Somebody's data, CC BY 4.0",)
    assert Generation.open(folder / manifest.generation).manifest == manifest
    assert sorted(path.name for path in (folder / manifest.generation).iterdir()) == sorted(
        [*SECTIONS, "manifest.json"]
    )
    assert leftovers(folder) == []


def test_who_is_named_by_several_sources_is_named_once(tmp_path: Path) -> None:
    several = [msgspec.structs.replace(place, source=f"s{at}") for at, place in enumerate(places(3))]
    manifest = build(several, tmp_path, now=NOW, attribution={"s0": "Ada, CC0", "s1": "Bob", "s2": "Ada, CC0"})
    assert manifest.attribution == ("Ada, CC0", "Bob")


def test_places_may_come_in_batches(tmp_path: Path) -> None:
    with SnapshotBuilder(tmp_path) as builder:
        builder.add(places(5)[:3])
        builder.add(places(5)[3:])
        manifest = builder.publish(NOW)
    assert manifest == build(places(5), tmp_path / "another", now=NOW)


def test_discarded_places_leave_nothing_behind(tmp_path: Path) -> None:
    with SnapshotBuilder(tmp_path) as builder:
        builder.add(places(5))
        builder.discard()
        assert leftovers(tmp_path) == []
        builder.add(places(3))
        assert builder.publish(NOW).count == 3


def test_building_the_same_again_publishes_nothing(tmp_path: Path) -> None:
    first = build(places(3), tmp_path, now=NOW)
    assert build(places(3), tmp_path, now=LATER) == first
    assert len(Shelf(tmp_path).generations()) == 1
    assert leftovers(tmp_path) == []


def test_building_the_same_again_repairs_a_damaged_generation(tmp_path: Path) -> None:
    damaged = tmp_path / build(places(3), tmp_path, now=NOW).generation
    (damaged / FEATURES).write_bytes(b"")
    for now in (NOW, LATER):
        assert Generation.open(tmp_path / build(places(3), tmp_path, now=now).generation).count == 3


def test_two_generations_of_one_second_stand_side_by_side_and_may_alternate(tmp_path: Path) -> None:
    one = build(places(1), tmp_path, now=NOW)
    other = build(places(2), tmp_path, now=NOW)
    again = build(places(1), tmp_path, now=NOW)
    assert (again, Shelf(tmp_path).current()) == (one, tmp_path / one.generation)
    assert {path.name for path in Shelf(tmp_path).generations()} == {one.generation, other.generation}


@pytest.mark.parametrize("memory", [1, 2**20])
@pytest.mark.parametrize("lon", [0.0, 77.0])
def test_one_place_twice_is_an_error_that_names_both(tmp_path: Path, lon: float, memory: int) -> None:
    twin = Place(external_id="sim:0", source="sim", name="Namesake", lat=0, lon=lon, country=None)
    with pytest.raises(UnusablePlace) as refusal:
        build([*places(1500), twin], tmp_path, now=NOW, memory=memory)
    assert str(twin.id) in refusal.value.message
    assert "sim:0 (Place 0)" in refusal.value.message
    assert "sim:0 (Namesake)" in refusal.value.message
    assert Shelf(tmp_path).current() is None
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(("lon", "lat"), [(math.nan, 0.0), (0.0, math.inf), (180.5, 0.0), (0.0, -91.0)])
def test_a_place_that_is_not_on_earth_is_an_error_that_names_it(tmp_path: Path, lon: float, lat: float) -> None:
    lost = Place(external_id="sim:7", source="sim", name="Lost", lat=lat, lon=lon, country=None)
    with pytest.raises(UnusablePlace, match="sim:7"):
        build([lost], tmp_path, now=NOW)


CRASH_AT_STEP = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from waypost.places.place import Place
from waypost.serving.building.builder import build

def dying(call):
    def step(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **kwargs)
    return step

places = [Place(external_id="sim:1", source="sim", name="New", lat=1, lon=1, country=None)]
for name in ("fsync", "mkdir", "rename", "replace", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
for line in sys.stdin:
    left, folder = int(line.split()[0]), line.split(maxsplit=1)[1].strip()
    if not (child := os.fork()):
        build(places, Path(folder), now=datetime(2026, 11, 15, 10, 15, tzinfo=UTC))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture
def build_and_die() -> Iterator[Callable[[Path, int], int]]:
    """Builds in a process that is killed at a step; how it ended. All of them come from one that has loaded it all."""
    with subprocess.Popen(
        [sys.executable, "-c", CRASH_AT_STEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        asked, told = parent.stdin, parent.stdout
        assert asked
        assert told

        def build_until(folder: Path, step: int) -> int:
            print(step, folder, file=asked, flush=True)
            return int(told.readline())

        yield build_until


def test_a_build_killed_at_any_step_leaves_a_whole_generation_in_service(
    tmp_path: Path, build_and_die: Callable[[Path, int], int]
) -> None:
    survived: set[bool] = set()
    for step in range(1, 100):
        folder = tmp_path / str(step)
        old = build(places(3), folder, now=NOW)
        ended = build_and_die(folder, step)
        current = Shelf(folder).current()
        assert current is not None
        assert Generation.open(current).count == (3 if current.name == old.generation else 1)
        survived.add(current.name == old.generation)
        latest = build(places(5), folder, now=MUCH_LATER)
        assert Shelf(folder).current() == folder / latest.generation
        assert leftovers(folder) == []
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
    else:
        pytest.fail("the build never came to its end")
    assert survived == {True, False}
    assert step > 10


FULL_DISK = """
import json, resource, sys
from datetime import UTC, datetime
from pathlib import Path
from waypost.places.place import Place
from waypost.serving.building.builder import build
from waypost.serving.format import SnapshotNotWritten

places = [
    Place(external_id=f"sim:{at}", source="sim", name="New", lat=1, lon=1, country=None) for at in range(1000)
]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    build(places, Path(sys.argv[1]), now=datetime(2026, 11, 15, 10, 15, tzinfo=UTC))
except SnapshotNotWritten as error:
    print(json.dumps([error.slug, error.message]))
"""


@pytest.mark.parametrize("room", [0, 5, 9_000, 100_000])
def test_a_full_disk_is_said_and_the_old_generation_stays(tmp_path: Path, room: int) -> None:
    old = build(places(3), tmp_path, now=NOW)
    before = sorted(tmp_path.rglob("*"))
    child = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path), str(room)],
        check=True,
        timeout=60,
        stdout=subprocess.PIPE,
    )
    slug, message = json.loads(child.stdout)
    assert slug == "snapshot-not-written"
    assert "needs" in message
    assert str(tmp_path) in message
    assert "File too large" in message
    assert sorted(tmp_path.rglob("*")) == before
    assert Shelf(tmp_path).current() == tmp_path / old.generation


def test_a_folder_that_cannot_be_made_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SnapshotNotWritten, match="Not a directory"):
        build(places(1), tmp_path / "file" / "snapshots", now=NOW)


def test_a_living_builders_workplace_is_left_alone_and_a_dead_ones_is_removed(tmp_path: Path) -> None:
    dead = tmp_path / ".building-dead"
    dead.mkdir()
    (dead / "lock").touch()
    (tmp_path / ".building-without-a-lock").mkdir()
    with Shelf(tmp_path).workplace() as alive:
        build(places(3), tmp_path, now=NOW)
        assert leftovers(tmp_path) == [alive.name]
    assert leftovers(tmp_path) == []


def test_builders_at_work_together_do_not_hurt_one_another(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda count: build(places(count), tmp_path, now=NOW), [1, 2, 3, 3, 4, 5, 5, 6]))
    for manifest in built:
        assert Generation.open(tmp_path / manifest.generation).manifest == manifest
    assert Shelf(tmp_path).current() in Shelf(tmp_path).generations()
    assert leftovers(tmp_path) == []
