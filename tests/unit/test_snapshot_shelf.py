"""The shelf: which generations stay, and which one is in service."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from waypost.kernel.configuration import Configuration, SettingError
from waypost.places.place import Place, to_feature
from waypost.serving.builder import build
from waypost.serving.durable import locked
from waypost.serving.format import FEATURES, NoSnapshot, SnapshotBroken, SnapshotNotWritten
from waypost.serving.settings import ServingSettings
from waypost.serving.shelf import CURRENT, LiveGeneration, Shelf

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
    assert [path.name for path in shelf.prune(2)] == names[1:3]
    assert [path.name for path in shelf.generations()] == [names[0], *names[3:]]
    assert shelf.prune(2) == []
    assert (tmp_path / "notes").is_dir()
    assert Shelf(tmp_path / "nowhere").prune(1) == []


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
    old, feature, answer = live.generation, live.generation.get(home.id), live.generation.box(0, 0, 90, 90, limit=10)
    build(places(4, "New"), tmp_path, now=LATER)
    assert live.refresh()
    assert [path.name for path in Shelf(tmp_path).prune(1)] == [old.name]
    assert bytes(feature or b"") == bytes(old.get(home.id) or b"") == to_feature(home)
    assert (answer.matched, answer.join().count(b'"Old ')) == (3, 3)
    assert live.generation.count == 4


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
