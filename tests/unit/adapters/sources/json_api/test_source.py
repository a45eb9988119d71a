"""The json-api source against a real server: every way of paging, scopes, fields, and what is never mistaken."""

import asyncio
import json
import tomllib
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import msgspec
import pytest

from support.lighthouses import FIELDS, LICENCE, Lighthouses, light, numbers, open_source, walk
from support.told_provider import Provider, Told, http, provider
from waypost.adapters.sources.http import ProviderRejected
from waypost.adapters.sources.json_api.source import make
from waypost.adapters.sources.json_api.tables import JsonApiTable
from waypost.importing.cuts import IdRange
from waypost.importing.definitions import SourceContext, keys_of
from waypost.importing.geography import Box, Cell, code_of
from waypost.importing.settings import ImportingSettings
from waypost.importing.source import (
    BadCursor,
    Extent,
    OutsideScope,
    Page,
    ProviderUnavailable,
    Scope,
    StuckCursor,
)
from waypost.places.place import Address, Attributes, Place, to_feature, to_properties
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

FULL = "lights/full:2026-02-21"
HOUR = "window:2026-02-21T10:00:00Z..2026-02-21T11:00:00Z"

SIZED = 'size = 2\nsize_parameter = "limit"'
PAGINATIONS = {
    how: f'records = "data.items"\n[pagination]\n{text}'
    for how, text in {
        "none": "",
        "page": f'kind = "page"\nparameter = "page"\n{SIZED}',
        "page with total": f'kind = "page"\nparameter = "page"\n{SIZED}\ntotal = "meta.total"',
        "offset": f'kind = "offset"\nparameter = "offset"\n{SIZED}',
        "offset with more": f'kind = "offset"\nparameter = "offset"\n{SIZED}\nmore = "meta.more"',
        "token": f'kind = "cursor"\nparameter = "token"\ntoken = "meta.token"\n{SIZED}',
        "next": f'kind = "cursor"\nnext = "meta.next"\n{SIZED}',
        "link": f'kind = "link"\n{SIZED}',
        "keyset": f'kind = "keyset"\nparameter = "after"\n{SIZED}',
        "keyset with more": f'kind = "keyset"\nparameter = "after"\n{SIZED}\nmore = "meta.more"',
    }.items()
}
KEYSET = PAGINATIONS["keyset"]
OFFSET = PAGINATIONS["offset"]


def bring(
    server: Told, text: str, shard: str = FULL, *, path: str = "/lights", **more: Any
) -> tuple[list[Page], Provider]:
    async def main() -> tuple[list[Page], Provider]:
        async with provider(server) as told, open_source(told.url + path, text, **more) as source:
            return await walk(source, shard), told

    return asyncio.run(main())


def fetch(
    answer: Told, text: str = 'records = "data"', cursor: str | None = None, shard: str = FULL, **more: Any
) -> Page:
    async def main() -> Page:
        async with provider(answer) as told, open_source(told.url + "/lights", text, **more) as source:
            return await source.fetch(ShardKey.parse(shard), cursor)

    return asyncio.run(main())


def planner(text: str, fields: str = FIELDS) -> Any:
    context = SourceContext("lights", LICENCE, ImportingSettings(100, 1, 1, 100, 0.2, 0.2), Path(), {})
    return make(tomllib.loads(f'url = "http://told/lights"\n{text}\n{fields}'), context)


@pytest.mark.parametrize("how", PAGINATIONS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_every_way_of_paging_brings_everything_once(how: str, count: int) -> None:
    lights = [light(number * 5) for number in range(1, count + 1)]
    pages, told = bring(Lighthouses(lights), PAGINATIONS[how])
    assert [number for page in numbers(pages) for number in page] == [each["id"] for each in lights]
    assert [page.last for page in pages] == [False] * (len(pages) - 1) + [True]
    assert {page.received for page in pages} <= {0, 1, 2, 3, 7}
    assert told.connections == 1


@pytest.mark.parametrize("how", [how for how in PAGINATIONS if not how.startswith("keyset")])
def test_who_reads_all_in_one_go_says_so_with_the_first_page(how: str) -> None:
    pages, _ = bring(Lighthouses([light(number) for number in range(1, 6)]), PAGINATIONS[how])
    assert [page.covers for page in pages] == [IdRange()] + [None] * (len(pages) - 1)


@pytest.mark.parametrize("how", ["keyset", "keyset with more"])
def test_pages_by_id_cover_the_ids_between_them(how: str) -> None:
    pages, _ = bring(Lighthouses([light(number) for number in (3, 5, 9)]), PAGINATIONS[how])
    assert [page.covers for page in pages][:2] == [IdRange(1, 6), IdRange(6, None if len(pages) == 2 else 10)]
    assert pages[-1].covers == IdRange(6 if len(pages) == 2 else 10)
    assert [[each.number for each in page.fetched] for page in pages][:2] == [[3, 5], [9]]


def test_a_range_of_ids_begins_and_ends_where_it_says() -> None:
    lights = Lighthouses([light(number) for number in (3, 5, 9, 12)])
    pages, told = bring(lights, KEYSET, f"{FULL}/ids:5..12")
    assert numbers(pages) == [[5, 9], []]
    assert [page.covers for page in pages] == [IdRange(5, 10), IdRange(10, 12)]
    assert [asked["after"] for asked in told.asked()] == ["4", "9"]


def test_what_is_left_of_a_range_can_be_cut() -> None:
    source = planner(KEYSET)
    page = Page((), (), "after:100", last=False)
    assert [str(part) for part in source.rest(ShardKey.parse(FULL), page)] == [
        f"{FULL}/ids:101..151",
        f"{FULL}/ids:151..",
    ]
    assert source.cuts == {"ids"}
    assert source.rest(ShardKey.parse(FULL), Page((), (), None, last=False)) == ()


@pytest.mark.parametrize("ids", [[5, 4], [3, 9, 9, 4]])
def test_ids_that_go_back_are_refused(ids: Sequence[int]) -> None:
    with pytest.raises(OutsideScope, match="in ascending order"):
        fetch(http({"data": {"items": [light(number) for number in ids]}}), KEYSET)


def test_an_id_that_comes_twice_in_a_row_skips_nothing() -> None:
    page = fetch(http({"data": {"items": [light(number) for number in (3, 3, 9)]}}), KEYSET)
    assert (numbers([page]), page.cursor) == ([[3, 3, 9]], "after:9")


@pytest.mark.parametrize("wrong", [0, -3, "x", "1e3", 10**18, 1.5])
def test_ids_that_are_no_numbers_are_set_aside(wrong: object) -> None:
    page = fetch(http({"data": {"items": [light(3), light(0) | {"id": wrong}]}}), KEYSET)
    assert (numbers([page]), len(page.rejects), page.cursor) == ([[3]], 1, "after:3")


def test_ids_below_the_cursor_are_refused() -> None:
    with pytest.raises(OutsideScope, match="asked for ids above 7 in ascending order, the provider sent 7"):
        fetch(http({"data": {"items": [light(7)]}}), KEYSET, cursor="after:7")


@pytest.mark.parametrize("how", ["page", "offset"])
def test_a_provider_that_ignores_the_parameter_is_noticed(how: str) -> None:
    same = http({"data": {"items": [light(1), light(2)]}}, keep_alive=True)
    with pytest.raises(StuckCursor, match="does it know the parameter"):
        bring(same, PAGINATIONS[how])


def test_pages_may_be_shorter_than_asked_for() -> None:
    pages, _ = bring(
        Lighthouses([light(number) for number in range(1, 8)], most=2),
        'records = "data.items"\n[pagination]\nkind = "page"\nparameter = "page"\ntotal = "meta.total"',
    )
    assert numbers(pages) == [[1, 2], [3, 4], [5, 6], [7]]


@pytest.mark.parametrize(
    "cursor", ["", "after:", "after:x", "after:-1", "offset:1:1:x", "token:", "at:/x", "after:99999999999999999999"]
)
def test_a_cursor_of_another_description_is_refused_before_anybody_is_asked(cursor: str) -> None:
    with pytest.raises(BadCursor):
        fetch(http([]), KEYSET, cursor=cursor)


@pytest.mark.parametrize("cursor", ["offset:7", "offset:2:2:a", "offset:x:1:1::a", "offset:1:x:1::a", "page:1:1:1::a"])
def test_a_numbered_cursor_has_all_its_parts(cursor: str) -> None:
    with pytest.raises(BadCursor):
        fetch(http({"data": {"items": []}}), OFFSET, cursor=cursor)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"items": []}, r"nothing at `data\.items`; its top has the keys items"),
        ({"data": {"lights": []}}, r"nothing at `data\.items`; `data` has the keys lights"),
        ({"data": {"items": None}}, r"no array at `data\.items`"),
        ({"data": {"items": {}}}, r"no array at `data\.items`; `data\.items` has the keys none"),
        ({"data": []}, r"nothing at `data\.items`; its top has the keys data"),
        ([], r"nothing at `data\.items`"),
        ({"error": "busy"}, "its top has the keys error"),
        (b"<html>busy</html>", "is not JSON"),
        (b"", "is not JSON"),
        (b'{"data": {"items": [{"id": 1}', "is not"),
        (b'"text"', r"nothing at `data\.items`"),
    ],
)
def test_an_answer_without_its_records_is_never_an_empty_page(body: object, reason: str) -> None:
    with pytest.raises(ProviderUnavailable, match=reason):
        fetch(http(body), 'records = "data.items"')


@pytest.mark.parametrize(
    ("text", "meta"),
    [
        (PAGINATIONS["page with total"], {}),
        (PAGINATIONS["page with total"], {"total": "many"}),
        (PAGINATIONS["page with total"], {"total": -1}),
        (PAGINATIONS["offset with more"], {}),
        (PAGINATIONS["offset with more"], {"more": "yes"}),
        (PAGINATIONS["token"], {"token": {"a": 1}}),
        (PAGINATIONS["next"], {"next": True}),
    ],
)
def test_an_answer_that_does_not_say_whether_there_is_more_is_no_end(text: str, meta: object) -> None:
    with pytest.raises(ProviderUnavailable):
        fetch(http({"data": {"items": [light(1)]}, "meta": meta}), text)


def test_a_bare_array_is_taken_even_with_a_byte_order_mark() -> None:
    pages, _ = bring(Lighthouses([light(1)]), "", path="/bare")
    assert numbers(pages) == [[1]]
    assert len(fetch(http(b"\xef\xbb\xbf  " + json.dumps([light(1)]).encode()), "").fetched) == 1


@pytest.mark.parametrize("next_url", ["https://elsewhere.example/", "//elsewhere.example/x", "http://127.0.0.1:1/"])
def test_a_next_page_elsewhere_is_not_asked_for(next_url: str) -> None:
    with pytest.raises(OutsideScope, match="our key must not go"):
        fetch(http({"data": {"items": [light(1)]}, "meta": {"next": next_url}}), PAGINATIONS["next"])


def test_a_token_with_our_key_in_it_is_not_kept() -> None:
    text = PAGINATIONS["token"].replace("[pagination]", '[auth]\nvariable = "K"\n[pagination]')
    answer = http({"data": {"items": [light(1)]}, "meta": {"token": "a-hunter2-b"}})
    with pytest.raises(ProviderRejected, match="our key") as refusal:
        fetch(answer, text, environ={"K": "hunter2"})
    assert "hunter2" not in str(refusal.value)


def test_fixed_parameters_and_the_key_go_along() -> None:
    text = 'params = { format = "json", deep = true, level = 3 }\n[auth]\nheader = "X-Key"\nvariable = "K"'
    _, told = bring(Lighthouses([]), text, path="/bare?v=2", environ={"K": "hunter2"})
    assert told.asked() == [{"v": "2", "format": "json", "deep": "true", "level": "3"}]
    assert told.header("X-Key") == ["hunter2"]


BY_COUNTRY = f'{OFFSET}\n[scope]\ncountry = "country"'


def test_a_country_is_asked_for_and_checked() -> None:
    lights = Lighthouses([light(1), light(2, country="FR"), light(3)])
    pages, told = bring(lights, BY_COUNTRY, "lights/country:DE/full:2026-02-21")
    assert numbers(pages)[0] == [1, 3]
    assert {asked["country"] for asked in told.asked()} == {"DE"}
    with pytest.raises(OutsideScope, match="asked for DE, the provider sent a place in FR"):
        fetch(http({"data": {"items": [light(2, country="FRA")]}}), BY_COUNTRY, shard="lights/country:DE/full:x")


def test_what_a_country_is_asked_for_has_it() -> None:
    page = fetch(http({"data": {"items": [light(2, country=None)]}}), BY_COUNTRY, shard="lights/country:DE/full:x")
    assert [each.place.country for each in page.fetched] == ["DE"]


def test_plans_follow_the_scope_that_the_file_has() -> None:
    day = date(2026, 2, 21)
    assert [str(shard) for shard in planner("").plan(Scope(), day)] == [FULL]
    assert [str(shard) for shard in planner(BY_COUNTRY).plan(Scope(("DE",)), day)] == [
        "lights/country:DE/full:2026-02-21"
    ]
    boxed = planner('[scope]\nbox = "bbox"')
    assert [str(shard) for shard in boxed.plan(Scope(bbox=Box(-180, -90, 180, 90)), day)] == [
        "lights/box:q/full:2026-02-21"
    ]
    assert planner('[scope]\nsince = "since"').plans == {"all", "window"}
    assert planner(f'{BY_COUNTRY}\nsince = "since"\nuntil = "until"').cuts == {"window"}
    assert (boxed.plans, boxed.cuts) == ({"box"}, {"box"})


BY_BOX = 'records = "data.items"\n[pagination]\nlimit = 3\n[scope]\nbox = "bbox"'


def test_a_box_that_is_too_full_is_truncated_and_cut_in_four() -> None:
    lights = [light(number, position={"lat": 10.0 + number, "lon": 20.0 + number}) for number in range(20)]
    server = Lighthouses(lights, most=3)

    async def all_of(source: Any, shard: str) -> list[int]:
        page = (await walk(source, shard))[-1]
        if not page.truncated:
            cell = Cell.parse(ShardKey.parse(shard)["box"])
            assert page.covers == IdRange(cell.codes.start, cell.codes.stop)
            assert all(each.number in page.covers for each in page.fetched)
            return [number for each in numbers([page]) for number in each]
        assert (page.covers, page.last) == (None, False)
        parts = source.rest(ShardKey.parse(shard), page)
        assert len(parts) == 4
        return [number for part in parts for number in await all_of(source, str(part))]

    async def main() -> list[int]:
        async with provider(server) as told, open_source(f"{told.url}/lights", BY_BOX) as source:
            return await all_of(source, "lights/box:q/full:2026-02-21")

    assert sorted(asyncio.run(main())) == list(range(20))


def test_boxes_of_all_sizes_lie_in_one_area_by_their_numbers() -> None:
    source = planner(BY_BOX)
    small, large = (source.extent(ShardKey.parse(f"lights/box:{name}/full:x")) for name in ("q12", "q1"))
    assert (small.area, large.area) == ("", "")
    assert small.numbers.start in large.numbers
    assert small.numbers.end - 1 in large.numbers
    assert planner(KEYSET).extent(ShardKey.parse(f"{FULL}/ids:3..9")) == Extent("lights", "", IdRange(3, 9))


def boxed(lat: float, lon: float, cell: str = "q1") -> Page:
    return fetch(
        http({"data": {"items": [light(1, position={"lat": lat, "lon": lon})]}}),
        BY_BOX,
        shard=f"lights/box:{cell}/full:x",
    )


def test_what_lies_on_an_edge_is_left_to_the_cell_that_has_it() -> None:
    assert [each.number for each in boxed(0.0, 0.0).fetched] == [code_of(0.0, 0.0)]
    assert boxed(0.0, 0.0, "q3").fetched == ()
    assert boxed(-0.0005, 10.0).fetched == ()
    assert boxed(10.0, -179.9999).fetched == ()


@pytest.mark.parametrize(("lat", "lon"), [(-1.0, 10.0), (10.0, -10.0), (10.0, -179.0)])
def test_a_box_that_was_not_understood_is_refused(lat: float, lon: float) -> None:
    with pytest.raises(OutsideScope, match="asked for q1"):
        boxed(lat, lon)


def test_a_paged_box_that_may_be_cut_off_covers_nothing() -> None:
    text = BY_BOX.replace(
        "limit = 3", 'kind = "offset"\nparameter = "offset"\nsize = 2\nsize_parameter = "limit"\nlimit = 3'
    )
    lights = [light(number, position={"lat": 10.0, "lon": 20.0 + number}) for number in range(1, 6)]
    pages, _ = bring(Lighthouses(lights), text, "lights/box:q1/full:x")
    assert ([page.covers for page in pages], pages[-1].truncated) == ([None, None], True)
    told = text.replace("limit = 3", 'limit = 3\ntotal = "meta.total"')
    assert bring(Lighthouses(lights[:3]), told, "lights/box:q1/full:x")[0][0].covers is not None


WINDOWS = f'{OFFSET}\n[scope]\nsince = "since"\nuntil = "until"'


def test_a_window_is_asked_for_and_cut_here_too() -> None:
    times = ["2026-02-21T09:49:59Z", "2026-02-21T09:50:00Z", "2026-02-21T10:59:59.9Z", "2026-02-21T11:00:00Z"]
    lights = [light(number, changed=time) for number, time in enumerate(times, 1)]
    pages, told = bring(Lighthouses(lights), WINDOWS, f"lights/{HOUR}")
    assert numbers(pages)[0] == [2, 3]
    assert (told.asked()[0]["since"], told.asked()[0]["until"]) == ("2026-02-21T09:50:00Z", "2026-02-21T11:00:00Z")
    assert {page.covers for page in pages} == {None}
    everything = http({"data": {"items": [*lights, light(9)]}})
    assert numbers([fetch(everything, WINDOWS, shard=f"lights/{HOUR}")]) == [[2, 3, 9]]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("iso", "2026-02-21T09:50:00Z"),
        ("epoch", "1771667400"),
        ("epoch-ms", "1771667400000"),
        ("%d.%m.%Y %H", "21.02.2026 09"),
    ],
)
def test_times_are_written_as_the_provider_wants_them(form: str, text: str) -> None:
    async def main() -> str:
        async with open_source("http://told/lights", f'{WINDOWS}\ntime_format = "{form}"') as source:
            return source.first_address(ShardKey.parse(f"lights/{HOUR}"))

    assert f"since={quote_plus(text)}" in asyncio.run(main())


@pytest.mark.parametrize(
    "shard",
    [
        "lights/country:DE/full:x",
        f"lights/{HOUR}",
        f"{FULL}/ids:1..2",
        "ocm/full:x",
        "lights/full:x/full:y",
    ],
)
def test_a_shard_that_the_source_did_not_plan_is_refused(shard: str) -> None:
    with pytest.raises(BadShardKey):
        fetch(http([]), shard=shard)


def test_a_check_asks_for_one_record_and_fails_as_the_import_would() -> None:
    async def main(answer: Told, text: str) -> Provider:
        async with provider(answer) as told, open_source(told.url + "/lights", text) as source:
            await source.check()
            return told

    told = asyncio.run(main(Lighthouses([]), BY_COUNTRY))
    assert told.asked() == [{"country": "DE", "limit": "1", "offset": "0"}]
    with pytest.raises(ProviderUnavailable):
        asyncio.run(main(http({"error": "busy"}), BY_COUNTRY))


def place(record: dict[str, Any], fields: str) -> Place:
    page = fetch(http({"data": [record]}), fields=fields)
    assert not page.rejects, page.rejects[0].reason
    return page.fetched[0].place


def test_every_field_of_a_place_can_be_told() -> None:
    record = {
        "uid": "L-7",
        "names": [{"text": " Roter Sand "}],
        "geometry": {"coordinates": [8.08, 53.85, 20.0]},
        "land": "DEU",
        "address": {"street": "Mole", "number": 1, "town": "Nordsee", "region": None, "zip": 27570},
        "keeper": {"name": "WSV"},
        "kinds": ["lighthouse", "monument", "lighthouse", None],
        "state": 1,
        "seen": "21.02.2026 10:30",
        "tech": {"lamps": 3, "range": 17.5, "radio": True, "colour": "red", "none": None},
    }
    fields = """
[fields]
id = "uid"
name = "names.0.text"
coordinates = "geometry.coordinates"
country = "land"
street = "address.street"
town = "address.town"
region = "address.region"
postcode = "address.zip"
operator = "keeper.name"
categories = "kinds"
updated_at = { path = "seen", format = "%d.%m.%Y %H:%M" }
[fields.status]
path = "state"
values = { 1 = "operational", 2 = "closed" }
[fields.attributes]
lamps = "tech.lamps"
range_nm = "tech.range"
radio = "tech.radio"
colour = "tech.colour"
missing = "tech.none"
"""
    found = place(record, fields)
    assert found == Place(
        external_id="lights:L-7",
        source="lights",
        name="Roter Sand",
        lat=53.85,
        lon=8.08,
        country="DE",
        address=Address("Mole", "Nordsee", None, "27570"),
        operator="WSV",
        categories=("lighthouse", "monument"),
        status="operational",
        attributes=Attributes(extra={"lamps": 3, "range_nm": 17.5, "radio": True, "colour": "red"}),
        provider_updated_at=datetime(2026, 2, 21, 10, 30, tzinfo=UTC),
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=Place) == found
    shown = json.loads(to_feature(found))["properties"]["attributes"]
    assert shown == {"lamps": 3, "range_nm": 17.5, "radio": True, "colour": "red"}


def test_attributes_of_charging_stay_as_they_are() -> None:
    plain = Place(
        external_id="a:1", source="a", name="x", lat=0, lon=0, country=None, attributes=Attributes((), 22.0, 2)
    )
    assert json.loads(msgspec.json.encode(to_properties(plain)))["attributes"] == {"power_kw": 22.0, "points": 2}
    both = msgspec.structs.replace(plain, attributes=Attributes((), 22.0, 2, {"lamps": 1, "power_kw": "no"}))
    assert json.loads(msgspec.json.encode(to_properties(both)))["attributes"] == {
        "power_kw": 22.0,
        "points": 2,
        "lamps": 1,
    }


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("2026-02-21T10:30:00+02:00", datetime(2026, 2, 21, 8, 30, tzinfo=UTC)),
        ("2026-02-21T10:30:00", datetime(2026, 2, 21, 10, 30, tzinfo=UTC)),
        (1771669800, datetime(2026, 2, 21, 10, 30, tzinfo=UTC)),
        (1771669800000, datetime(2026, 2, 21, 10, 30, tzinfo=UTC)),
        ("1771669800", datetime(2026, 2, 21, 10, 30, tzinfo=UTC)),
        (None, None),
        ("", None),
    ],
)
def test_times_are_read_however_they_are_written(given: object, moment: datetime | None) -> None:
    assert place(light(1, changed=given), FIELDS).provider_updated_at == moment


@pytest.mark.parametrize(
    ("record", "reason", "external_id"),
    [
        (light(1, position={"lat": 91, "lon": 0}), "latitude 91.0 is not on Earth", "lights:1"),
        (light(1, position={"lat": "north", "lon": 0}), "lat 'north' is not a number", "lights:1"),
        (light(1, position={}), "it has no lon: there is nothing in its field position.lon", "lights:1"),
        (light(1, position=None), "it has no lon", "lights:1"),
        (light(1, title={"de": "x"}), "name is an object, not a text", "lights:1"),
        (light(1, changed="yesterday"), "updated_at 'yesterday' is not a time", "lights:1"),
        (light(1, changed="0001-01-01T00:00:00+14:00"), "is not one in UTC", "lights:1"),
        (light(1, changed=1e300), "is not a time", "lights:1"),
        (light(1, lamps=[1]), "attributes.lamps is a list", "lights:1"),
        (light(1, country="Deutschland"), "country 'Deutschland' is not a code", "lights:1"),
        (light(1) | {"id": None}, "it has no id: there is nothing in its field id", None),
        (light(1) | {"id": "a\nb"}, "characters that cannot be shown", None),
        (light(1) | {"id": True}, "id is true, not a text", None),
        ("a text", "it is not an object", None),
        (None, "it is not an object", None),
        ([], "it is not an object", None),
    ],
)
def test_what_is_no_place_is_set_aside_with_its_reason(record: object, reason: str, external_id: str | None) -> None:
    page = fetch(http({"data": [light(8), record, light(9)]}))
    assert numbers([page]) == [[8, 9]]
    (reject,) = page.rejects
    assert reason in reject.reason
    assert json.loads(reject.record) == record
    assert reject.external_id == external_id
    # What cannot even be named may be any place that we hold.
    assert page.hides_some == (external_id is None)


WRONG = [
    ('url = "ftp://x"', "url: write it like https://host/path"),
    ('url = "https://ada:hunter2@host/"', "url: write it like"),
    ('url = "https://host:99999999/"', "url: write it like"),
    ('ulr = "https://x"', r"there is no key ulr; there is url, .*Did you mean url\?"),
    ("records = 3", "records: Expected `str`, got `int`"),
    (
        '[pagination]\nkind = "pages"',
        "pagination.kind: Invalid enum value 'pages'; write one of none, page, offset, cursor, keyset, link",
    ),
    ('[pagination]\nkind = "page"', "pagination.parameter is missing"),
    (
        '[pagination]\nkind = "page"\nparamter = "p"',
        r"there is no key pagination\.paramter; .*Did you mean parameter\?",
    ),
    (
        '[pagination]\nkind = "page"\nparameter = "p"\ntoken = "x"',
        "pagination.token goes with kind cursor, not with page",
    ),
    ('[pagination]\nkind = "cursor"\nparameter = "p"', "either token"),
    ('[pagination]\nkind = "cursor"\ntoken = "p"', "go together"),
    ('[pagination]\nkind = "cursor"\nnext = "p"\nparameter = "p"', "go together"),
    ("[pagination]\nsize = 0", "pagination.size should be at least 1"),
    ('[pagination]\nkind = "link"\nlimit = 5', "pagination.limit goes with kind none or page or offset"),
    ('[pagination]\nkind = "page"\nparameter = "p"\nstart = -1', "pagination.start should be at least 0"),
    ('[scope]\ncountry = "c"\nbox = "b"', "along one of them"),
    ('[scope]\nuntil = "u"', "scope.until needs scope.since"),
    ('[scope]\nsince = "u"\ntime_format = "x"', "scope.time_format"),
    ('[scope]\nbox = "b"\nbox_format = "{left}"', "scope.box_format"),
    ('[scope]\nbox = "b"\nbox_format = "{west.x}"', "scope.box_format"),
    ('[auth]\nheader = "X"', "auth needs either"),
    ('[auth]\nvalue = "hunter2"', "names no variable"),
    ('[auth]\nkey = "hunter2"', r"there is no key auth\.key; there is header, value, variable"),
    ("params = { a = [1] }", "params"),
    (
        'url = "http://x/?page=1&a=1&a=2"\n[pagination]\nkind = "page"\nparameter = "page"',
        "page is in url and in pagination.parameter",
    ),
    ('params = { p = 3 }\n[pagination]\nkind = "page"\nparameter = "p"', "p is in params and in pagination.parameter"),
    (
        '[pagination]\nkind = "page"\nparameter = "p"\nsize_parameter = "p"',
        "p is in pagination.parameter and in pagination.size_parameter",
    ),
    ('[scope]\nsince = "u"\nuntil = "u"', "u is in scope.since and in scope.until"),
]


@pytest.mark.parametrize(("text", "reason"), WRONG)
def test_a_file_that_makes_no_sense_is_told_by_its_key(text: str, reason: str) -> None:
    url = "" if text.startswith("url") else 'url = "http://told/"\n'
    context = SourceContext("lights", LICENCE, ImportingSettings(100, 1, 1, 100, 0.2, 0.2), Path(), {})
    with pytest.raises(ValueError, match=reason) as refusal:
        make(tomllib.loads(f"{url}{text}\n{FIELDS}"), context)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ('[fields]\nid = "id"', "either lat and lon, or coordinates"),
        (
            '[fields]\nid = "id"\nlat = "a"\nlon = "b"\nupdated_at = { path = "u", format = "%Q" }',
            "fields.updated_at.format: 'Q' is a bad directive",
        ),
        ('[fields]\nid = "id"\nlat = "a"\nlon = "b"\nupdated_at = { path = "u", format = "%d%" }', "stray %"),
        ('[fields]\nlat = "a"\nlon = "b"', "fields.id is missing"),
        ('[fields]\nid = "id"\nlat = "a"\nlong = "b"', r"fields has no long; .*Did you mean lon\?"),
        (
            '[fields]\nid = "id"\nlat = "a"\nlon = "b"\nstatus = { path = "s", values = { a = "open" } }',
            "none of closed",
        ),
        ('[fields]\nid = "id"\nlat = "a"\nlon = "b"\nattributes = { "La mp" = "x" }', "is not a name"),
        ('[fields]\nid = "id"\nlat = "a"\nlon = "b"\nupdated_at = { path = "x", format = "iso" }', "format should be"),
        ("", "fields"),
    ],
)
def test_fields_that_make_no_sense_are_told_by_their_name(fields: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        planner("", fields)


def test_a_window_needs_times() -> None:
    with pytest.raises(ValueError, match=r"scope\.since needs fields\.updated_at"):
        planner('[scope]\nsince = "s"', '[fields]\nid = "id"\nlat = "a"\nlon = "b"')


def test_all_keys_of_the_file_can_be_listed() -> None:
    assert {"url", "pagination.kind", "scope.box_format", "auth.variable"} <= set(keys_of(JsonApiTable))
