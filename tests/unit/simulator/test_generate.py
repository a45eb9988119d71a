"""Generated places: the same again, the first of more, and as odd as the real ones."""

import hashlib
import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.places.countries import NAMES
from waypost.simulator.generate import generate
from waypost.simulator.geography import COUNTRIES
from waypost.simulator.query import Form, read_query
from waypost.simulator.shapes import shape


def records_of(places: int, seed: int) -> list[bytes]:
    return generate(places, seed).take(np.arange(places))


@cache
def sample() -> list[dict[str, Any]]:
    return [json.loads(record) for record in records_of(4000, seed=7)]


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert records_of(300, seed=3) == records_of(300, seed=3)


def test_another_seed_gives_other_places() -> None:
    assert not set(records_of(300, seed=3)) & set(records_of(300, seed=4))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 300), st.integers(0, 300), st.integers(-(2**70), 2**70))
def test_fewer_places_are_the_first_of_more(fewer: int, more: int, seed: int) -> None:
    fewer, more = sorted((fewer, more))
    assert records_of(fewer, seed) == records_of(more, seed)[:fewer]


def test_a_known_place_never_changes_between_releases() -> None:
    first = json.loads(records_of(1, seed=1)[0])
    assert (first["ID"], first["UUID"]) == (20002, "08A68401-160F-41D9-AA0F-8695E83717D5")
    assert first["AddressInfo"]["Title"] == "Station Rotterdam"


def test_no_byte_of_many_places_changes_between_releases() -> None:
    assert hashlib.sha256(b"\n".join(records_of(2000, seed=1))).hexdigest().startswith("5a26339c07335777")


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("verbose", [False, True])
def test_every_form_is_written_as_if_it_were_made_from_the_whole_record(
    compact: bool,  # noqa: FBT001 - a parameter of the test
    verbose: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    form = Form(compact=compact, verbose=verbose)
    written = [json.loads(record) for record in generate(4000, 7).take(np.arange(4000), form)]
    assert written == [shape(record, form) for record in sample()]


def test_what_is_not_kept_is_rendered_again_alike() -> None:
    forgetful = generate(50, 3, room=10_000)
    rows = np.arange(50)
    assert forgetful.take(rows) == forgetful.take(rows) == records_of(50, seed=3)


def test_a_place_is_rendered_alike_alone_and_among_others() -> None:
    assert generate(900, 5).take(np.array([811, 137])) == [records_of(900, 5)[811], records_of(900, 5)[137]]


def test_every_town_is_in_a_real_country_and_near_its_neighbours() -> None:
    for country in COUNTRIES:
        assert country.code in NAMES
        assert len(country.towns) >= 3
        for town in country.towns:
            assert abs(town.lat - country.towns[0].lat) < 25
            assert abs(town.lon - country.towns[0].lon) < 50


def test_places_lie_in_many_countries_and_near_their_towns() -> None:
    assert len({record["AddressInfo"]["CountryID"] for record in sample()}) == len(COUNTRIES)
    towns = {(town.name, country.code): town for country in COUNTRIES for town in country.towns}
    for address in (record["AddressInfo"] for record in sample()):
        if address["Country"] and address["Latitude"]:
            town = towns[address["Town"], address["Country"]["ISOCode"]]
            assert abs(address["Latitude"] - town.lat) < 0.1


def test_ids_ascend_with_gaps() -> None:
    steps = np.diff([record["ID"] for record in sample()])
    assert steps.min() >= 1
    assert len(set(steps.tolist())) > 5


def test_uuids_and_ids_are_unique() -> None:
    assert len({record["UUID"] for record in sample()}) == len({record["ID"] for record in sample()}) == 4000


def test_times_are_whole_minutes_and_a_large_share_is_one_value() -> None:
    times = Counter(record["DateLastStatusUpdate"] for record in sample())
    assert all(time.endswith(":00Z") for time in times)
    assert times.most_common(1)[0][1] > 4000 * 0.2
    assert len(times) > 1000
    assert all(record["DateCreated"] <= record["DateLastStatusUpdate"] < "2026-03" for record in sample())


def test_a_few_sit_at_zero_zero_and_many_share_coordinates() -> None:
    points = Counter((r["AddressInfo"]["Latitude"], r["AddressInfo"]["Longitude"]) for r in sample())
    assert points[0.0, 0.0] == 10
    assert sum(count > 1 for point, count in points.items() if point != (0.0, 0.0)) > 20


def test_strings_are_empty_rather_than_null_at_times() -> None:
    for name in ("AddressLine2", "ContactTelephone1", "RelatedURL", "AccessComments"):
        values = {record["AddressInfo"][name] for record in sample()}
        assert {None, ""} <= values
    assert "" in {record["AddressInfo"]["Postcode"] for record in sample()}


def test_some_operators_countries_and_connections_are_missing() -> None:
    assert any(record["OperatorID"] is None and record["OperatorInfo"] is None for record in sample())
    assert any(record["AddressInfo"]["Country"] is None for record in sample())
    assert any(not record["Connections"] for record in sample())
    assert all(record["AddressInfo"]["CountryID"] for record in sample())


def test_ids_and_their_objects_agree_with_the_reference_data() -> None:
    reference = generate(0, 0).reference
    pairs = (
        ("OperatorID", "OperatorInfo", "Operators"),
        ("UsageTypeID", "UsageType", "UsageTypes"),
        ("StatusTypeID", "StatusType", "StatusTypes"),
        ("DataProviderID", "DataProvider", "DataProviders"),
        ("SubmissionStatusTypeID", "SubmissionStatus", "SubmissionStatusTypes"),
    )
    for number, name, table in pairs:
        known = reference.by_id(table)
        assert all(record[name] == known.get(record[number]) for record in sample())
    kinds, levels = reference.by_id("ConnectionTypes"), reference.by_id("ChargerTypes")
    for plug in (plug for record in sample() for plug in record["Connections"]):
        assert plug["ConnectionType"] == kinds[plug["ConnectionTypeID"]]
        assert plug["Level"] == levels[plug["LevelID"]]


def test_every_generated_place_is_published() -> None:
    assert {record["SubmissionStatusTypeID"] for record in sample()} == {100, 200}


def test_no_places_at_all_are_fine() -> None:
    empty = generate(0, 1)
    assert len(empty) == 0
    assert empty.take(empty.select(read_query([]))) == []
