"""From somebody else's record to a place, by a table of fields."""

from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.sources.fields import FieldMap
from waypost.places.place import Address, Attributes, Connector

DEFAULTS = {"id": "id", "name": "name", "lat": "lat", "lon": "lon"}
HERE = {"id": 7, "lat": 52.5, "lon": 13.4}


def fields(**table: Any) -> FieldMap:
    return FieldMap.parse(table, DEFAULTS)


def test_a_record_becomes_a_place() -> None:
    mapped = fields(
        id="properties.ref",
        name="properties.name",
        coordinates="geometry.coordinates",
        country={"path": "properties.land", "values": {"Deutschland": "DE"}},
        street="properties.addr:street",
        town="addresses.0.locality",
        region="addresses.0.region",
        postcode="properties.zip",
        operator="properties.operator.name",
        categories="properties.tags",
        status={"path": "properties.open", "values": {"true": "operational", "false": "closed"}},
        updated_at="properties.changed",
        attributes={
            "points": "properties.points",
            "connectors": {"path": "plugs", "type": "kind.title", "power_kw": "kw", "count": "n"},
        },
    )
    record = {
        "geometry": {"type": "Point", "coordinates": [13.4, 52.5, 30]},
        "addresses": [{"locality": "Berlin", "region": " "}, {"locality": "Bonn"}],
        "plugs": [{"kind": {"title": "CCS"}, "kw": 150, "n": 2}, {"kind": None, "kw": "22"}],
        "properties": {
            "ref": "B-1",
            "name": " Alex ",
            "land": "Deutschland",
            "addr:street": "Platz 1",
            "zip": 10178,
            "operator": {"name": "Stadt"},
            "tags": ["charging", "parking", "charging", None],
            "open": True,
            "points": "3",
            "changed": "2026-02-21T01:00:00+01:00",
        },
    }
    place = mapped.to_place(record, "city")
    assert (place.external_id, place.source, place.name) == ("city:B-1", "city", "Alex")
    assert (place.lon, place.lat, place.country) == (13.4, 52.5, "DE")
    assert place.address == Address("Platz 1", "Berlin", None, "10178")
    assert (place.operator, place.status) == ("Stadt", "operational")
    assert place.categories == ("charging", "parking")
    assert place.attributes == Attributes((Connector("CCS", 150.0, 2), Connector("unknown", 22.0)), 150.0, 3)
    assert place.provider_updated_at == datetime(2026, 2, 21, tzinfo=UTC)


def test_little_is_enough() -> None:
    place = fields().to_place(HERE, "city")
    assert (place.external_id, place.name, place.country, place.status) == ("city:7", "city:7", None, "unknown")
    assert place.attributes == Attributes()


def test_a_value_may_be_the_same_for_all_records() -> None:
    place = fields(
        country={"value": "de"},
        categories={"value": ["charging"]},
        status={"value": "planned"},
        operator={"value": "Us"},
    ).to_place(HERE, "city")
    assert (place.country, place.categories, place.status, place.operator) == ("DE", ("charging",), "planned", "Us")


def test_a_column_may_have_dots_in_its_name() -> None:
    assert fields(name="names.first").to_place({**HERE, "names.first": "A"}, "city").name == "A"


def test_a_given_position_takes_the_place_of_the_default_one() -> None:
    assert fields(coordinates="at").needed == ("id", "at")
    assert fields(lat="y", lon="x").needed == ("id", "y", "x")


@pytest.mark.parametrize(
    ("found", "text"),
    [(7, "7"), (7.0, "7"), (7.5, "7.5"), (" a b ", "a b"), (Decimal("1.20"), "1.20"), (2**70, str(2**70))],
)
def test_an_id_is_a_text_or_a_number(found: Any, text: str) -> None:
    assert fields().external_id({"id": found}, "city") == f"city:{text}"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"id": None}, "it has no id: there is nothing in its field id"),
        ({"id": "  "}, "it has no id"),
        ({"id": True}, "id is true, not a text"),
        ({"id": [1]}, "id is a list, not a text"),
        ({"id": {"a": 1}}, "id is an object, not a text"),
        ({"id": "a\0b"}, "characters that cannot be shown"),
        ({"id": "x" * 501}, "is too long"),
        ({"lat": None}, "it has no lat: there is nothing in its field lat"),
        ({"lat": ""}, "it has no lat"),
        ({"lat": "52,5"}, "lat '52,5' is not a number"),
        ({"lat": "nan"}, "lat 'nan' is not a number"),
        ({"lat": 10**400}, "is not a number"),
        ({"lat": True}, "lat is true, not a number"),
        ({"lat": 90.1}, "latitude 90.1 is not on Earth"),
        ({"lon": -181}, "longitude -181.0 is not on Earth"),
        ({"name": ["a"]}, "name is a list, not a text"),
        ({"country": "Germany"}, "country 'Germany' is not a code"),
        ({"updated_at": "yesterday"}, "updated_at 'yesterday' is not a time"),
        ({"updated_at": 1e300}, "is not a time"),
        ({"plugs": "many"}, "connectors should be a list of objects"),
        ({"plugs": [1]}, "connectors should be a list of objects"),
    ],
)
def test_what_cannot_be_a_place_is_told(record: dict[str, Any], reason: str) -> None:
    mapped = fields(country="country", updated_at="updated_at", attributes={"connectors": {"path": "plugs"}})
    with pytest.raises(ValueError, match=reason):
        mapped.to_place({**HERE, **record}, "city")


@pytest.mark.parametrize(
    ("found", "moment"),
    [
        ("2026-02-21", datetime(2026, 2, 21, tzinfo=UTC)),
        ("2026-02-21 10:00:00", datetime(2026, 2, 21, 10, tzinfo=UTC)),
        ("2026-02-21T10:00:00Z", datetime(2026, 2, 21, 10, tzinfo=UTC)),
        (date(2026, 2, 21), datetime(2026, 2, 21, tzinfo=UTC)),
        (datetime(2026, 2, 21, tzinfo=UTC), datetime(2026, 2, 21, tzinfo=UTC)),
        (1771632000, datetime(2026, 2, 21, tzinfo=UTC)),
        (1771632000000, datetime(2026, 2, 21, tzinfo=UTC)),
        ("", None),
        (None, None),
    ],
)
def test_times_come_in_many_forms(found: Any, moment: datetime | None) -> None:
    assert fields(updated_at="at").to_place({**HERE, "at": found}, "city").provider_updated_at == moment


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"nmae": "a"}, "fields has no nmae; .* Did you mean name?"),
        ({"name": 7}, "fields.name should be a path"),
        ({"name": ""}, "fields.name should be a path"),
        ({"name": {"paht": "a"}}, "fields.name has no paht; .* Did you mean path?"),
        ({"name": {}}, "fields.name needs either a path or a value"),
        ({"name": {"path": "a", "value": "b"}}, "fields.name needs either"),
        ({"name": {"path": ["a"]}}, "fields.name should be a path"),
        ({"name": {"path": "a", "values": "b"}}, "fields.name.values should be a table"),
        ({"lat": "a"}, "either lat and lon, or coordinates"),
        ({"lat": "a", "lon": "b", "coordinates": "c"}, "either lat and lon, or coordinates"),
        ({"status": {"path": "a", "values": {"x": "operationl"}}}, "none of .* Did you mean operational?"),
        ({"status": {"value": "open"}}, "'open' is none of"),
        ({"attributes": "a"}, "fields.attributes should be a table"),
        ({"attributes": {"Power!": "a"}}, "'Power!' is not a name"),
        ({"attributes": {"connectors": "a"}}, "connectors should be a table with the path"),
        ({"attributes": {"connectors": {"path": "a", "kw": "b"}}}, "connectors has no kw"),
    ],
)
def test_a_table_that_cannot_be_used_is_told(table: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        FieldMap.parse(table, DEFAULTS)


def test_a_table_without_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match=r"fields\.id is missing"):
        FieldMap.parse({}, {"lat": "lat", "lon": "lon"})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.datetimes() | st.decimals(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "0", "b"]), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["id", "name", "lat", "lon", "a", "a.b", "at"]), anything))
def test_any_record_is_a_place_on_earth_or_a_reason(record: dict[str, Any]) -> None:
    mapped = fields(
        town="a.b.0",
        status="a",
        categories="a.b",
        updated_at="at",
        country="a",
        attributes={"points": "a", "connectors": {"path": "at", "count": "a"}},
    )
    with suppress(ValueError):
        place = mapped.to_place(record, "city")
        assert abs(place.lat) <= 90
        assert abs(place.lon) <= 180
        assert place.name
