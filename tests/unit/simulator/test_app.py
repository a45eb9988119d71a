"""The simulated provider over HTTP: every parameter and every pitfall of the protocol."""

import asyncio
import csv
import json
from functools import cache
from typing import Any

import httpx
import pytest

from waypost.simulator.app import make_app
from waypost.simulator.generate import generate
from waypost.simulator.provider import Provider
from waypost.simulator.query import LARGEST_LIMIT, read_query
from waypost.simulator.shapes import camel

PLACES = 1200
Params = dict[str, str] | tuple[tuple[str, str], ...]


@cache
def provider() -> Provider:
    return generate(PLACES, seed=11)


def get(path: str, params: Params, *, key: str | None = None, headers: dict[str, str] | None = None) -> httpx.Response:
    async def fetch() -> httpx.Response:
        transport = httpx.ASGITransport(app=make_app(provider(), key=key))
        async with httpx.AsyncClient(transport=transport, base_url="http://simulator") as client:
            return await client.get(path, params=params, headers=headers)

    return asyncio.run(fetch())


def poi(**params: str) -> list[dict[str, Any]]:
    response = get("/v3/poi", params)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert isinstance(answer, list)
    return answer


@cache
def everything() -> list[dict[str, Any]]:
    return poi(maxresults="5000", sortby="id_asc")


def ids(records: list[dict[str, Any]]) -> list[int]:
    return [record["ID"] for record in records]


def expected(test: Any) -> list[int]:
    found = [record["ID"] for record in everything() if test(record)]
    assert 0 < len(found) < PLACES, "the sample must tell the filter from none"
    return found


def asked(**params: str) -> list[int]:
    return ids(poi(maxresults="5000", sortby="id_asc", **params))


def test_everything_is_all_there_is() -> None:
    assert len(set(ids(everything()))) == PLACES


def test_a_hundred_come_unless_asked_otherwise() -> None:
    assert len(poi()) == 100
    assert len(poi(maxresults="7")) == 7


@pytest.mark.parametrize("nonsense", ["", "many", "-3", "0", "1.5", "9" * 5000])
def test_a_limit_that_cannot_be_read_is_ignored(nonsense: str) -> None:
    assert len(poi(maxresults=nonsense)) == 100


def test_a_huge_limit_is_bounded() -> None:
    assert read_query([("maxresults", "999999999999999999999")]).limit == LARGEST_LIMIT


def test_without_an_order_the_newest_ids_come_first() -> None:
    assert ids(poi()) == ids(everything())[::-1][:100]


def test_paging_by_id_reaches_the_end_and_finds_everything_once() -> None:
    seen: list[int] = []
    while page := poi(sortby="id_asc", maxresults="97", greaterthanid=str(seen[-1] if seen else 0)):
        seen += ids(page)
    assert seen == ids(everything())


def test_an_id_beyond_all_numbers_gives_an_empty_answer() -> None:
    assert poi(sortby="id_asc", greaterthanid="9" * 40) == []


def test_offset_does_nothing() -> None:
    assert poi(offset="100", page="2") == poi()


def test_unknown_parameters_and_comments_change_nothing() -> None:
    assert poi(colour="green", includecomments="true", client="waypost") == poi()


def test_parameter_names_may_be_written_in_any_case() -> None:
    assert poi(MaxResults="3", SORTBY="id_asc") == everything()[:3]


@pytest.mark.parametrize(("order", "field"), [("modified_asc", "DateLastStatusUpdate"), ("created_asc", "DateCreated")])
def test_sorting_by_time_ascends(order: str, field: str) -> None:
    times = [record[field] for record in poi(sortby=order, maxresults="5000")]
    assert len(times) == PLACES
    assert times == sorted(times)


def test_equal_times_have_no_tie_break_by_id() -> None:
    records = poi(sortby="modified_asc", maxresults="5000")
    assert ids(records) != ids(sorted(records, key=lambda record: (record["DateLastStatusUpdate"], record["ID"])))


@pytest.mark.parametrize(
    ("name", "field"), [("modifiedsince", "DateLastStatusUpdate"), ("createdsince", "DateCreated")]
)
def test_since_includes_its_moment_and_has_no_end(name: str, field: str) -> None:
    moment = sorted(record[field] for record in everything())[PLACES // 2]
    assert asked(**{name: moment}) == expected(lambda record: record[field] >= moment)
    assert asked(**{name: moment.removesuffix("Z")}) == asked(**{name: moment})


def test_a_cursor_on_time_alone_stalls_on_the_largest_tie() -> None:
    times = [record["DateLastStatusUpdate"] for record in everything()]
    tie = max(set(times), key=times.count)
    page = poi(modifiedsince=tie, sortby="modified_asc", maxresults="100")
    assert {record["DateLastStatusUpdate"] for record in page} == {tie}


def test_a_time_that_cannot_be_read_is_ignored() -> None:
    assert poi(modifiedsince="last week") == poi()


def test_countries_are_found_by_code_also_where_the_record_has_the_id_alone() -> None:
    numbers = {record["AddressInfo"]["CountryID"] for record in everything() if _code(record) in {"DE", "JP"}}
    wanted = expected(lambda record: record["AddressInfo"]["CountryID"] in numbers)
    assert asked(countrycode="DE,JP") == asked(countrycode=" jp , de") == wanted
    assert set(asked(countrycode="DE")) | set(asked(countrycode="JP")) == set(wanted)


def test_a_repeated_parameter_has_both_values() -> None:
    both = get("/v3/poi", (("countrycode", "DE"), ("countrycode", "JP"), ("maxresults", "5000"), ("sortby", "id_asc")))
    assert ids(both.json()) == asked(countrycode="DE,JP")


def test_an_unknown_country_is_ignored_and_the_whole_world_comes_back() -> None:
    assert asked(countrycode="XX") == ids(everything())
    assert asked(countrycode="Germany") == ids(everything())
    assert asked(countrycode="DE,XX") == asked(countrycode="DE")


def test_a_known_country_without_places_has_none() -> None:
    assert asked(countrycode="TV") == []


def test_a_box_may_name_any_two_opposite_corners() -> None:
    wanted = expected(lambda record: 45 <= _lat(record) <= 55 and -5 <= _lon(record) <= 15)
    assert asked(boundingbox="(45,-5),(55,15)") == wanted
    assert asked(boundingbox="(55.0, 15.0), (45.0, -5.0)") == wanted


def test_a_box_without_an_order_is_cut_arbitrarily_yet_always_alike() -> None:
    box = "(30,-30),(70,40)"
    found = ids(poi(boundingbox=box, maxresults="50"))
    assert len(found) == 50
    assert found != sorted(found)
    assert found != sorted(found, reverse=True)
    assert found == ids(poi(boundingbox=box, maxresults="50"))
    assert set(ids(poi(boundingbox=box, maxresults="5000"))) == set(asked(boundingbox=box))


def test_places_at_zero_zero_are_in_no_box_of_their_country() -> None:
    lost = [record for record in everything() if (_lat(record), _lon(record)) == (0, 0)]
    assert len(lost) == 3
    assert asked(boundingbox="(-1,-1),(1,1)") == ids(lost)


@pytest.mark.parametrize("nonsense", ["1,2,3,4", "(1,2)", "(1,2),(3,)", "(1,2),(3,400)", "(1.2.3,2),(3,4)"])
def test_a_box_that_cannot_be_read_is_ignored(nonsense: str) -> None:
    assert asked(boundingbox=nonsense) == ids(everything())


def test_near_a_point_the_nearest_come_first_with_their_distance_in_miles() -> None:
    found = poi(latitude="52.52", longitude="13.405", distance="10", maxresults="5000")
    distances = [record["AddressInfo"]["Distance"] for record in found]
    assert found
    assert distances == sorted(distances)
    assert max(distances) <= 10
    assert {record["AddressInfo"]["DistanceUnit"] for record in found} == {2}


def test_a_distance_may_be_in_kilometres() -> None:
    where = {"latitude": "52.52", "longitude": "13.405", "maxresults": "5000"}
    in_miles = poi(distance="300", distanceunit="Miles", **where)
    in_kilometres = poi(distance="482.8032", distanceunit="KM", **where)
    assert ids(in_miles) == ids(in_kilometres)
    assert ids(poi(distance="300", distanceunit="km", **where)) != ids(in_miles)
    first, same = in_miles[0]["AddressInfo"], in_kilometres[0]["AddressInfo"]
    assert same["Distance"] == pytest.approx(first["Distance"] * 1.609344)
    assert same["DistanceUnit"] == 1


def test_the_distance_between_two_cities_is_right() -> None:
    found = poi(latitude="48.8566", longitude="2.3522", distanceunit="km", maxresults="5000")
    berlin = [r for r in found if r["AddressInfo"]["Town"] == "Berlin" and _lat(r)]
    assert berlin
    assert all(860 < record["AddressInfo"]["Distance"] < 895 for record in berlin)


def test_a_point_without_a_distance_orders_everything_and_half_a_point_is_ignored() -> None:
    assert len(poi(latitude="0", longitude="0", maxresults="5000")) == PLACES
    assert poi(latitude="0") == poi(latitude="nan", longitude="0") == poi(latitude="0", longitude="181") == poi()


def test_near_with_an_order_keeps_that_order() -> None:
    found = asked(latitude="52.52", longitude="13.405", distance="300")
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("name", "field", "values"),
    [
        ("operatorid", "OperatorID", {1, 45}),
        ("usagetypeid", "UsageTypeID", {4, 5}),
        ("statustypeid", "StatusTypeID", {50, 150}),
        ("dataproviderid", "DataProviderID", {2}),
    ],
)
def test_ids_of_the_place_filter_it(name: str, field: str, values: set[int]) -> None:
    given = ",".join(map(str, values))
    assert asked(**{name: given}) == expected(lambda record: record[field] in values)
    assert asked(**{name: f"{given},x"}) == asked(**{name: given})
    assert asked(**{name: "x"}) == ids(everything())
    assert asked(**{name: "987654"}) == []


@pytest.mark.parametrize(
    ("name", "field", "values"), [("connectiontypeid", "ConnectionTypeID", {2, 33}), ("levelid", "LevelID", {3})]
)
def test_ids_of_any_connection_filter_its_place(name: str, field: str, values: set[int]) -> None:
    wanted = expected(lambda record: any(plug[field] in values for plug in record["Connections"]))
    assert asked(**{name: ",".join(map(str, values))}) == wanted


def test_open_data_leaves_out_what_is_not_openly_licensed() -> None:
    assert asked(opendata="true") == expected(lambda record: record["DataProvider"]["IsOpenDataLicensed"])
    assert asked(opendata="perhaps") == ids(everything())


def test_conditions_are_met_together() -> None:
    wanted = expected(lambda record: _code(record) == "US" and record["StatusTypeID"] == 50 and record["ID"] > 22000)
    assert asked(countrycode="US", statustypeid="50", greaterthanid="22000") == wanted


def test_compact_has_ids_instead_of_objects() -> None:
    full, slim = (
        poi(maxresults="1", countrycode="DE", levelid="2")[0],
        poi(maxresults="1", countrycode="DE", levelid="2", compact="true")[0],
    )
    assert set(full) - set(slim) == {"DataProvider", "OperatorInfo", "UsageType", "StatusType", "SubmissionStatus"}
    assert set(full["AddressInfo"]) - set(slim["AddressInfo"]) == {"Country"}
    dropped = set(full["Connections"][0]) - set(slim["Connections"][0])
    assert dropped == {"ConnectionType", "Level", "StatusType", "CurrentType"}
    assert slim["AddressInfo"]["CountryID"] == 87
    assert slim["UUID"] == full["UUID"]


def test_not_verbose_leaves_nulls_out_and_keeps_empty_strings() -> None:
    slim = poi(verbose="false", maxresults="5000", sortby="id_asc")
    assert "null" not in json.dumps(slim).replace('"null', "")
    assert slim == [_without_nulls(record) for record in everything()]
    assert any(record["AddressInfo"].get("AddressLine2") == "" for record in slim)


def test_camel_case_changes_every_name() -> None:
    record = poi(camelcase="true", maxresults="1", sortby="id_asc")[0]
    assert {"id", "uuid", "dataProviderID", "addressInfo"} <= set(record)
    assert record["addressInfo"]["country"]["isoCode"] == everything()[0]["AddressInfo"]["Country"]["ISOCode"]


@pytest.mark.parametrize(
    ("name", "changed"),
    [("ID", "id"), ("ISOCode", "isoCode"), ("PowerKW", "powerKW"), ("IsLive", "isLive"), ("RelatedURL", "relatedURL")],
)
def test_camel_case_lowers_the_leading_capitals(name: str, changed: str) -> None:
    assert camel(name) == changed


def test_geojson_is_a_collection_of_points_with_longitude_first() -> None:
    response = get("/v3/poi", {"output": "geojson", "sortby": "id_asc", "maxresults": "5"})
    assert response.headers["content-type"] == "application/geo+json"
    collection = response.json()
    assert collection["type"] == "FeatureCollection"
    first, record = collection["features"][0], everything()[0]
    assert first["id"] == record["ID"]
    assert first["geometry"] == {"type": "Point", "coordinates": [_lon(record), _lat(record)]}
    assert first["properties"]["name"] == record["AddressInfo"]["Title"]
    assert first["properties"]["poi"] == record


def test_csv_has_a_header_and_a_line_a_place() -> None:
    response = get("/v3/poi", {"output": "csv", "sortby": "id_asc", "maxresults": "5000"})
    assert response.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(response.text.splitlines()))
    assert [int(row["ID"]) for row in rows] == ids(everything())
    assert rows[0]["LocationTitle"] == everything()[0]["AddressInfo"]["Title"]
    assert rows[0]["Latitude"] == str(_lat(everything()[0]))


def test_an_unknown_output_is_json() -> None:
    assert poi(output="hologram") == poi(output="json") == poi()


def test_plain_answers_are_the_stored_bytes() -> None:
    query = read_query([("sortby", "id_asc"), ("maxresults", "3")])
    stored = provider().take(provider().select(query))
    assert get("/v3/poi", {"sortby": "id_asc", "maxresults": "3"}).content == b"[" + b",".join(stored) + b"]"


def test_reference_data_has_the_lists_that_records_refer_to() -> None:
    lists = get("/v3/referencedata", {}).json()
    assert set(lists) == {
        *("ChargerTypes", "ConnectionTypes", "CurrentTypes", "Countries", "DataProviders", "Operators"),
        *("StatusTypes", "SubmissionStatusTypes", "UsageTypes"),
    }
    assert {"ID": 87, "Title": "Germany", "ISOCode": "DE", "ContinentCode": "EU"} in lists["Countries"]
    for entries in lists.values():
        assert len({entry["ID"] for entry in entries}) == len(entries)
        assert all(entry["Title"] for entry in entries)


@pytest.mark.parametrize("path", ["/v3/poi", "/v3/referencedata"])
def test_a_key_is_needed_where_one_is_configured(path: str) -> None:
    assert get(path, {}, key="säsam").status_code == 403
    assert get(path, {"key": "wrong"}, key="säsam").status_code == 403
    assert get(path, {"key": ""}, key="säsam").status_code == 403
    assert get(path, {}, key="sesame", headers={"X-API-Key": "wrong"}).status_code == 403
    assert get(path, {"key": "säsam"}, key="säsam").status_code == 200
    assert get(path, {"KEY": "sesame"}, key="sesame").status_code == 200
    assert get(path, {}, key="sesame", headers={"X-API-Key": "sesame"}).status_code == 200
    assert get(path, {"key": "any"}).status_code == 200


def test_the_front_page_and_liveness_need_no_key() -> None:
    assert "simulated provider" in get("/", {}, key="sesame").text
    assert get("/livez", {}, key="sesame").status_code == 200
    assert get("/v4/poi", {}, key="sesame").status_code == 404


def _code(record: dict[str, Any]) -> str:
    return str((record["AddressInfo"]["Country"] or {}).get("ISOCode"))


def _lat(record: dict[str, Any]) -> float:
    return float(record["AddressInfo"]["Latitude"])


def _lon(record: dict[str, Any]) -> float:
    return float(record["AddressInfo"]["Longitude"])


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
