"""Places that change while the provider runs: what was found before is found again as it is now."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from waypost.simulator.changes import ProviderChanges
from waypost.simulator.files import load
from waypost.simulator.generate import generate
from waypost.simulator.provider import Provider
from waypost.simulator.query import Form, read_query
from waypost.simulator.shapes import shape

PLACES = 400
NOW = 1_780_000_000
MINUTE = "2026-05-28T20:27:00Z"
CHANGED = {"AddressInfo", "StatusTypeID", "StatusType", "UsageCost", "Connections", "DateLastStatusUpdate"}


def changing(places: int = PLACES, seed: int = 9) -> tuple[Provider, ProviderChanges]:
    provider = generate(places, seed)
    return provider, ProviderChanges(provider, seed, clock=lambda: NOW)


def answer(provider: Provider, **parameters: str) -> list[dict[str, Any]]:
    query = read_query({"sortby": "id_asc", "maxresults": "10000", **parameters}.items())
    return [json.loads(record) for record in provider.take(provider.select(query), query.form)]


def by_id(records: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {record["ID"]: record for record in records}


def test_the_moment_is_rounded_to_the_nearest_minute() -> None:
    for seconds, minute in ((0, "20:26"), (29, "20:26"), (30, "20:27"), (59, "20:27")):
        provider = generate(1, 9)
        ProviderChanges(provider, 9, clock=lambda: 1_779_999_960 + seconds).make(edits=1)  # noqa: B023 - used at once
        assert answer(provider)[0]["DateLastStatusUpdate"] == f"2026-05-28T{minute}:00Z"


def test_edited_places_are_found_by_their_new_time_and_the_others_are_as_before() -> None:
    provider, changes = changing()
    before = by_id(answer(provider))
    changes.make(edits=60)
    edited = by_id(answer(provider, modifiedsince=MINUTE))
    assert 40 < len(edited) <= changes.made.edits == 60
    after = by_id(answer(provider))
    assert after.keys() == before.keys()
    for number, record in after.items():
        fields = {name for name in record if record[name] != before[number][name]}
        assert fields <= CHANGED
        assert bool(fields) == (number in edited)
        assert record == edited.get(number, record)


def test_edits_change_names_statuses_prices_powers_and_positions() -> None:
    provider, changes = changing()
    before = by_id(answer(provider))
    changes.make(edits=300)
    after = by_id(answer(provider))
    pairs = [(before[number], after[number]) for number in before]
    assert any(old["AddressInfo"]["Title"] != new["AddressInfo"]["Title"] for old, new in pairs)
    assert any(old["AddressInfo"]["Latitude"] != new["AddressInfo"]["Latitude"] for old, new in pairs)
    assert any(old["StatusTypeID"] != new["StatusTypeID"] for old, new in pairs)
    assert any(old["UsageCost"] != new["UsageCost"] for old, new in pairs)
    assert any(old["Connections"] != new["Connections"] for old, new in pairs)


def test_the_index_follows_an_edited_status_and_position() -> None:
    provider, changes = changing()
    changes.make(edits=500)
    for status in (50, 100, 150):
        wanted = [record["ID"] for record in answer(provider) if record["StatusTypeID"] == status]
        assert [record["ID"] for record in answer(provider, statustypeid=str(status))] == wanted
    for record in answer(provider, modifiedsince=MINUTE)[:50]:
        lat, lon = record["AddressInfo"]["Latitude"], record["AddressInfo"]["Longitude"]
        assert record in answer(provider, boundingbox=f"({lat},{lon}),({lat},{lon})")


@pytest.mark.parametrize("compact", [False, True])
def test_every_form_shows_an_edit_also_when_it_was_asked_for_before(compact: bool) -> None:  # noqa: FBT001 - a parameter of the test
    provider, changes = changing()
    parameters = {"compact": str(compact), "verbose": "false"}
    assert len(answer(provider, **parameters)) == PLACES
    changes.make(edits=100)
    form = Form(compact=compact, verbose=False)
    assert answer(provider, **parameters) == [shape(record, form) for record in answer(provider)]


def test_a_place_edited_again_has_both_edits() -> None:
    provider, changes = changing(places=1)
    changes.make(edits=40)
    record = answer(provider)[0]
    assert record["AddressInfo"]["Title"].endswith(")")
    assert record["AddressInfo"]["Title"].count("(") == 1
    assert record["UsageCost"] is not None


def test_deleted_places_come_back_in_no_answer() -> None:
    provider, changes = changing()
    before = set(by_id(answer(provider)))
    changes.make(deletions=150)
    left = by_id(answer(provider))
    assert len(left) == len(provider) == PLACES - 150
    assert set(left) < before
    assert set(by_id(answer(provider, modifiedsince="2000-01-01"))) == set(left)
    query = read_query([("maxresults", "10000")])
    assert len(provider.select(query)) == len(left)


def test_added_places_have_ids_above_all_others_and_are_found_by_every_filter() -> None:
    provider, changes = changing()
    top = answer(provider)[-1]["ID"]
    changes.make(additions=120)
    assert len(provider) == PLACES + 120
    added = answer(provider, greaterthanid=str(top))
    assert len(added) == 120
    assert len({record["UUID"] for record in answer(provider)}) == PLACES + 120
    assert added == answer(provider, createdsince=MINUTE)
    assert {record["DateLastStatusUpdate"] for record in added} == {MINUTE}
    for record in added:
        found = answer(
            provider,
            greaterthanid=str(record["ID"] - 1),
            countrycode=(record["AddressInfo"]["Country"] or {"ISOCode": ""})["ISOCode"],
            connectiontypeid=",".join(str(plug["ConnectionTypeID"]) for plug in record["Connections"]),
        )
        assert found[0] == record


def test_added_places_are_edited_and_deleted_like_the_others() -> None:
    provider, changes = changing(places=3)
    changes.make(additions=200)
    changes.make(edits=400, deletions=150)
    assert len(answer(provider)) == 53
    assert {record["DateLastStatusUpdate"] for record in answer(provider)} == {MINUTE}


def test_the_same_changes_give_the_same_places() -> None:
    (one, first), (two, second) = changing(), changing()
    for changes in (first, second):
        changes.make(edits=50, deletions=20, additions=30)
        changes.make(edits=50)
    assert answer(one) == answer(two)


def test_when_all_are_deleted_nothing_is_left_to_change() -> None:
    provider, changes = changing(places=5)
    changes.make(deletions=9)
    changes.make(edits=3, additions=3, deletions=3)
    assert len(provider) == 0
    assert (changes.made.deletions, changes.made.edits, changes.made.additions) == (5, 0, 0)
    ProviderChanges(generate(0, 1), 1).make(edits=1, deletions=1, additions=1)


def test_odd_records_of_a_file_can_be_edited_and_copied(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"ID": 1, "AddressInfo": None, "Connections": None},
        {"ID": 2, "AddressInfo": {"Latitude": "north", "Title": 5}, "Connections": [3]},
        {"ID": 3, "Connections": [{"PowerKW": "strong"}], "StatusTypeID": "x"},
    ]
    path = tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in odd))
    provider = load(path)
    ProviderChanges(provider, 4, clock=lambda: NOW).make(edits=60, additions=5)
    assert [record["ID"] for record in answer(provider)][:3] == [1, 2, 3]
    assert len(answer(provider)) == 8
    assert {record["DateLastStatusUpdate"] for record in answer(provider)} == {MINUTE}


def test_what_is_not_kept_is_made_again_with_its_edits() -> None:
    roomy, forgetful = generate(60, 3), generate(60, 3, room=5000)
    for provider in (roomy, forgetful):
        ProviderChanges(provider, 3, clock=lambda: NOW).make(edits=80, additions=10)
    rows = np.arange(70)
    assert roomy.take(rows) == forgetful.take(rows) == forgetful.take(rows)
