"""A file of records: what is served, and what is refused with which words."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from waypost.kernel.errors import AskedWrongly
from waypost.simulator.files import ProviderFileUnusable, load
from waypost.simulator.provider import Provider
from waypost.simulator.query import read_query


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def ids(provider: Provider, **parameters: str) -> list[int]:
    pairs = {"sortby": "id_asc", **parameters}.items()
    return [json.loads(record)["ID"] for record in provider.take(provider.select(read_query(pairs)))]


def record(number: int, **more: Any) -> dict[str, Any]:
    return {"ID": number, "SubmissionStatusTypeID": 200, **more}


def test_records_come_back_as_they_were_written_in_the_order_of_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "places.jsonl"
    path.write_bytes(b'{"ID": 9, "Odd":  [1, null]}\n\n{"ID":3}\n')
    provider = load(path)
    assert provider.take(provider.select(read_query([("sortby", "id_asc")]))) == [
        b'{"ID":3}',
        b'{"ID": 9, "Odd":  [1, null]}',
    ]


def test_a_compressed_file_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "places"
    path.write_bytes(gzip.compress(b'{"ID":3}\n{"ID":4}'))
    assert ids(load(path)) == [3, 4]


def test_an_empty_file_is_a_provider_without_places(tmp_path: Path) -> None:
    provider = load(write(tmp_path / "empty.jsonl"))
    assert len(provider) == 0
    assert ids(provider, countrycode="DE", connectiontypeid="2") == []


def test_only_published_records_are_served(tmp_path: Path) -> None:
    path = write(
        tmp_path / "f", record(1), record(2, SubmissionStatusTypeID=1002), record(3, SubmissionStatusTypeID=100)
    )
    assert ids(load(path)) == [1, 3]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "not JSON"),
        (b'{"ID": 1} {"ID": 2}', "not JSON"),
        (b'{"ID": NaN}', "not JSON"),
        (b'{"ID": 1, "Title": "\xff"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "a JSON object"),
        (b"null", "a JSON object"),
        (b"{}", "no ID"),
        (b'{"ID": "7"}', "no ID"),
        (b'{"ID": true}', "no ID"),
        (b'{"ID": 1.5}', "no ID"),
        (b'{"ID": -4}', "no ID"),
        (b'{"ID": 99999999999999999999}', "no ID"),
        (b'{"ID": 5}', "ID 5 was already on line 1"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_what_is_wrong(tmp_path: Path, line: bytes, words: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"ID": 5}\n\n' + line + b"\n")
    with pytest.raises(ProviderFileUnusable, match=words) as raised:
        load(path)
    assert raised.value.line == 3
    assert "bad.jsonl, line 3: " in raised.value.message
    assert isinstance(raised.value, AskedWrongly)


def test_an_id_that_stands_on_an_unpublished_record_too_is_twice(tmp_path: Path) -> None:
    with pytest.raises(ProviderFileUnusable, match="already on line 1"):
        load(write(tmp_path / "f", record(1, SubmissionStatusTypeID=1000), record(1)))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderFileUnusable, match=r"missing\.jsonl: it cannot be read: No such file"):
        load(tmp_path / "missing.jsonl")


def test_a_damaged_compressed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b'{"ID":3}\n' * 50)[:-12])
    with pytest.raises(ProviderFileUnusable):
        load(path)


def test_odd_records_are_served_and_merely_not_found_by_what_they_lack(tmp_path: Path) -> None:
    odd = [
        record(1, AddressInfo=None, Connections=None),
        record(2, AddressInfo={"Latitude": "north", "Longitude": None, "Country": "DE"}, Connections=[3, {}]),
        record(3, DateLastStatusUpdate="yesterday", OperatorID="x", Connections={"a": 1}),
        record(4, AddressInfo={"Latitude": 95.0, "Longitude": 500}, DateLastStatusUpdate=5),
    ]
    provider = load(write(tmp_path / "f", *odd))
    assert ids(provider) == [1, 2, 3, 4]
    assert ids(provider, boundingbox="(-90,-180),(90,180)") == []
    assert ids(provider, modifiedsince="1970-01-01") == []
    assert ids(provider, countrycode="DE") == []


def test_a_country_known_by_id_alone_is_found_through_other_records(tmp_path: Path) -> None:
    named = {"CountryID": 9001, "Country": {"ID": 9001, "ISOCode": "IS", "Title": "Iceland"}}
    path = write(tmp_path / "f", record(1, AddressInfo={"CountryID": 9001}), record(2, AddressInfo=named))
    assert ids(load(path), countrycode="IS") == [1, 2]


def test_the_reference_data_of_a_file_has_what_its_records_mention(tmp_path: Path) -> None:
    plug = {"ConnectionTypeID": 77, "ConnectionType": {"ID": 77, "Title": "Seventy-seven"}, "LevelID": 2}
    path = write(tmp_path / "f", record(1, OperatorID=8, OperatorInfo={"ID": 8, "Title": "Eight"}, Connections=[plug]))
    provider = load(path)
    assert provider.reference.lists["Operators"] == [{"ID": 8, "Title": "Eight"}]
    assert provider.reference.by_id("ConnectionTypes")[77]["Title"] == "Seventy-seven"
    assert ids(provider, connectiontypeid="77", levelid="2", operatorid="8") == [1]
    assert ids(provider, levelid="3") == []


def test_times_with_fractions_and_offsets_are_compared_as_moments(tmp_path: Path) -> None:
    path = write(
        tmp_path / "f",
        record(1, DateLastStatusUpdate="2026-02-21T00:00:00.500Z"),
        record(2, DateLastStatusUpdate="2026-02-21T01:00:00+01:00"),
        record(3, DateLastStatusUpdate="2026-02-20T23:59:59"),
    )
    assert ids(load(path), modifiedsince="2026-02-21T00:00:00Z") == [1, 2]
