"""The shelf: which generations stay, and which one is in service."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from waypost.kernel.configuration import Configuration, SettingError
from waypost.places.place import Place, to_feature
from waypost.serving.building.builder import build
from waypost.serving.durable import locked
from waypost.serving.format import FEATURES, NoSnapshot, SnapshotBroken, SnapshotNotWritten
from waypost.serving.overview import NoOlderGeneration, before_current
from waypost.serving.reading.query import Query
from waypost.serving.settings import ServingSettings
from waypost.serving.shelf import CURRENT, LiveGeneration, Shelf, UnknownGeneration

NOW = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def places(count: int, name: str = "Place") -> list[Place]:
    return [
        Place(external_id=f"sim:{at}", source="sim", name=f"{name} {at}", lat=at % 90, lon=at % 180, country=None)
        for at in range(count)
    ]


def test_pruning_keeps_the_newest_and_the_current(tmp_path: Path) -> None:
    names = [build(places(count), tmp_path, now=NOW + timedelta(hours=count)).generation for count in range(1, 6)]
    (tmp_path / CURRENT).write_text(names[0] + "\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "20261115T091500Z-00000000").mkdir()
    shelf = Shelf(tmp_path)
    assert shelf.prune(2) == []
    assert [path.name for path in shelf.prune(2, grace=0)] == names[1:3]
    assert [path.name for path in shelf.generations()] == [names[0], *names[3:]]
    assert shelf.prune(2, grace=0) == []
    assert (tmp_path / "notes").is_dir()
    assert Shelf(tmp_path / "nowhere").prune(1) == []


def test_generations_of_one_second_stand_in_the_order_they_were_made_in(tmp_path: Path) -> None:
    names = [
        build(places(count), tmp_path, now=NOW + timedelta(milliseconds=count)).generation for count in range(1, 10)
    ]
    assert names != sorted(names)
    shelf = Shelf(tmp_path)
    assert [path.name for path in shelf.generations()] == names
    assert before_current(shelf).name == names[-2]
    shelf.use(names[0])
    with pytest.raises(NoOlderGeneration):
        before_current(shelf)


def age(generation: Path) -> None:
    """As if nobody had touched it for an hour."""
    then = time.time() - 3600
    os.utime(generation, (then, then))


def test_what_was_current_a_moment_ago_stays_for_its_readers(tmp_path: Path) -> None:
    names = [build(places(count), tmp_path, now=NOW + timedelta(hours=count)).generation for count in range(1, 5)]
    shelf = Shelf(tmp_path)
    for name in names:
        age(tmp_path / name)
    shelf.use(names[1])
    shelf.use(names[2])
    # The last one was left for the second, the second just now for the third; the first was left long ago.
    assert [path.name for path in shelf.prune(1)] == [names[0]]
    age(tmp_path / names[1])
    assert [path.name for path in shelf.prune(1)] == [names[1]]
    assert [path.name for path in shelf.generations()] == names[2:]


def test_one_can_go_back_and_forth_between_generations(tmp_path: Path) -> None:
    names = [build(places(count), tmp_path, now=NOW + timedelta(hours=count)).generation for count in range(1, 4)]
    shelf = Shelf(tmp_path)
    live = LiveGeneration(shelf)
    for name in (names[0], names[2], names[0], names[0], names[1]):
        shelf.use(name)
        live.refresh()
        assert live.generation.name == name
    assert shelf.find() == tmp_path / names[1]
    assert shelf.find(names[2]) == tmp_path / names[2]
    assert not (tmp_path / "CURRENT.tmp").exists()


def test_what_does_not_open_cannot_be_used(tmp_path: Path) -> None:
    names = [build(places(count), tmp_path, now=NOW + timedelta(hours=count)).generation for count in range(1, 3)]
    (tmp_path / names[0] / FEATURES).write_bytes(b"")
    shelf = Shelf(tmp_path)
    with pytest.raises(SnapshotBroken, match=FEATURES):
        shelf.use(names[0])
    for unknown in ("", "../..", names[0][:-1], "CURRENT"):
        with pytest.raises(UnknownGeneration) as refusal:
            shelf.use(unknown)
        assert refusal.value.next_step == "waypost snapshot list"
    with pytest.raises(UnknownGeneration, match=f"Did you mean {names[1]}"):
        shelf.find(names[1][:-1])
    assert shelf.current() == tmp_path / names[1]
    with pytest.raises(UnknownGeneration):
        Shelf(tmp_path / "nowhere").use(names[0])
    with pytest.raises(NoSnapshot):
        Shelf(tmp_path / "nowhere").find()


def test_a_damaged_pointer_is_repaired_by_using_a_generation(tmp_path: Path) -> None:
    name = build(places(1), tmp_path, now=NOW).generation
    (tmp_path / CURRENT).write_bytes(b"../../\xff")
    Shelf(tmp_path).use(name)
    assert Shelf(tmp_path).current() == tmp_path / name


def test_before_the_first_build_there_is_nothing_to_serve(tmp_path: Path) -> None:
    live = LiveGeneration(Shelf(tmp_path / "nowhere"))
    assert not live.refresh()
    with pytest.raises(NoSnapshot) as refusal:
        _ = live.generation
    assert (refusal.value.slug, refusal.value.next_step) == ("no-snapshot", "waypost snapshot build")


def test_a_new_generation_goes_into_service_under_answers_on_their_way(tmp_path: Path) -> None:
    build(places(3, "Old"), tmp_path, now=NOW)
    live = LiveGeneration(Shelf(tmp_path))
    assert live.refresh()
    assert not live.refresh()
    home = places(3, "Old")[0]
    old, feature, answer = live.generation, live.generation.get(home.id), live.generation.select(Query(), 10)
    build(places(4, "New"), tmp_path, now=LATER)
    assert live.refresh()
    assert [path.name for path in Shelf(tmp_path).prune(1, grace=0)] == [old.name]
    assert bytes(feature or b"") == bytes(old.get(home.id) or b"") == to_feature(home)
    assert (answer.matched, answer.join().count(b'"Old ')) == (3, 3)
    assert live.generation.count == 4


def mapped(folder: Path) -> list[str]:
    """Files below a folder that this process has in its memory, though they were taken away."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return [line for line in maps if str(folder) in line and line.endswith("(deleted)")]


def test_a_generation_that_was_taken_away_takes_no_room_on_the_disk(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    live = LiveGeneration(shelf)
    names = []
    for count in range(1, 4):
        names.append(build(places(count), tmp_path, now=NOW + timedelta(hours=count)).generation)
        live.refresh()
    assert all(live.kept(name) for name in names)
    shelf.prune(1, grace=0)
    assert mapped(tmp_path)
    assert not live.refresh()
    assert [name for name in names if live.kept(name)] == names[2:]
    assert mapped(tmp_path) == []


def test_whoever_asks_a_generation_has_it_however_many_others_are_asked(tmp_path: Path) -> None:
    names = [build(places(count), tmp_path, now=NOW + timedelta(hours=count)).generation for count in range(1, 6)]
    live = LiveGeneration(Shelf(tmp_path))
    first = live.keep(names[0])
    assert first
    for name in names[1:]:
        assert live.keep(name)
    assert live.kept(names[0]) is live.keep(names[0]) is first
    del first
    assert live.kept(names[0]) is None
    assert live.keep("20251115T091500Z-00000000") is None


def test_a_generation_that_cannot_be_opened_leaves_the_old_one_in_service(tmp_path: Path) -> None:
    build(places(3), tmp_path, now=NOW)
    live = LiveGeneration(Shelf(tmp_path))
    live.refresh()
    broken = tmp_path / build(places(4), tmp_path, now=LATER).generation
    (broken / FEATURES).unlink()
    with pytest.raises(SnapshotBroken, match=FEATURES):
        live.refresh()
    (tmp_path / CURRENT).write_bytes(b"../../\xff")
    with pytest.raises(SnapshotBroken, match=CURRENT):
        live.refresh()
    assert live.generation.count == 3


def test_a_generation_pruned_before_it_was_opened_gives_way_to_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(tmp_path)
    latest = tmp_path / build(places(3), tmp_path, now=NOW).generation
    read = iter([tmp_path / "20251115T091500Z-00000000", latest])
    monkeypatch.setattr(shelf, "current", lambda: next(read))
    live = LiveGeneration(shelf)
    assert live.refresh()
    assert live.generation.path == latest


def test_who_waits_too_long_for_a_lock_is_told_so(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"), pytest.raises(SnapshotNotWritten, match="lock"), locked(tmp_path / "lock", 0):
        pytest.fail("two had it at once")


def test_settings_have_defaults_and_refuse_what_makes_no_sense() -> None:
    assert Configuration({}, {}, None).room(ServingSettings) == ServingSettings(snapshots="", keep=3, box_limit=10000)
    for wrong in ("0", "-1", "three", "1.5", ""):
        with pytest.raises(SettingError, match=r"snapshot\.keep"):
            Configuration({"snapshot.keep": wrong}, {}, None).room(ServingSettings)
