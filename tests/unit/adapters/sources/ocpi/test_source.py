"""The ocpi source against a real server that speaks all three versions."""

import asyncio
import json
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from support.ocpi_provider import TOKEN, VERSIONS, OcpiProvider, location
from support.told_provider import Provider, Told, http, provider
from waypost.adapters.sources.http import ProviderRejected
from waypost.adapters.sources.ocpi.records import name_of
from waypost.adapters.sources.ocpi.source import OcpiSource, make
from waypost.importing.cuts import IdRange
from waypost.importing.definitions import SourceContext
from waypost.importing.settings import ImportingSettings
from waypost.importing.source import (
    AccessDenied,
    BadCursor,
    OutsideScope,
    Page,
    ProviderUnavailable,
    Scope,
    StuckCursor,
)
from waypost.kernel.configuration import SettingError
from waypost.places.licence import Licence
from waypost.places.place import Connector
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

FULL = "plugs/full:2026-02-21"
HOUR = "plugs/window:2026-02-21T10:00:00Z..2026-02-21T11:00:00Z"
each_version = pytest.mark.parametrize("version", VERSIONS)


def build(text: str, environ: Mapping[str, str] | None = None) -> OcpiSource:
    importing = ImportingSettings(1000, 30, 1_000_000, 100, 0.2, 0.2)
    context = SourceContext("plugs", Licence("CC0", "Plug"), importing, Path(), environ or {"PLUGS": TOKEN})
    return make(tomllib.loads(f'token = "PLUGS"\n{text}'), context)


@asynccontextmanager
async def opened(url: str, version: str = "2.2.1", more: str = "") -> AsyncIterator[OcpiSource]:
    source = build(f'url = "{url}/ocpi/{version}/locations"\nversion = "{version}"\n{more}')
    try:
        yield source
    finally:
        await source.close()


async def walk(source: OcpiSource, shard: str) -> list[Page]:
    pages: list[Page] = []
    while not pages or not pages[-1].last:
        pages.append(await source.fetch(ShardKey.parse(shard), pages[-1].cursor if pages else None))
        assert len(pages) < 50, "the shard has no end"
    return pages


def bring(server: Told, version: str = "2.2.1", more: str = "", shard: str = FULL) -> tuple[list[Page], Provider]:
    async def main() -> tuple[list[Page], Provider]:
        async with provider(server) as told, opened(told.url, version, more) as source:
            return await walk(source, shard), told

    return asyncio.run(main())


def discover(server: Told, version: str, more: str = "") -> tuple[list[Page], Provider]:
    async def main() -> tuple[list[Page], Provider]:
        async with provider(server) as told:
            source = build(f'versions = "{told.url}/ocpi/versions"\nversion = "{version}"\n{more}')
            try:
                return await walk(source, FULL), told
            finally:
                await source.close()

    return asyncio.run(main())


def ids(pages: Sequence[Page]) -> list[str]:
    return [each.place.external_id for page in pages for each in page.fetched]


def expected(version: str, count: int) -> list[str]:
    whose = "" if version == "2.1.1" else "NL*ABC*"
    return [f"plugs:{whose}LOC{number}" for number in range(count)]


@each_version
@pytest.mark.parametrize(("links", "counts"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("count", [0, 1, 4, 7])
def test_pages_follow_links_or_counts_or_go_on_until_there_is_nothing(
    version: str, count: int, *, links: bool, counts: bool
) -> None:
    server = OcpiProvider([location(number, version) for number in range(count)], links=links, counts=counts, most=2)
    pages, _ = bring(server, version)
    assert ids(pages) == expected(version, count)
    assert [page.covers for page in pages] == [IdRange()] + [None] * (len(pages) - 1)


@each_version
def test_the_versions_lead_to_the_locations_one_request_a_page(version: str) -> None:
    server = OcpiProvider([location(number, version) for number in range(5)], most=2)
    pages, told = discover(server, version)
    assert ids(pages) == expected(version, 5)
    assert len(pages) == len(told.requests) == 2 + 3
    assert [address.partition("?")[0] for address in told.addresses()][:3] == [
        "/ocpi/versions",
        f"/ocpi/{version}",
        f"/ocpi/{version}/locations",
    ]
    assert (pages[0].covers, {page.covers for page in pages[1:]}) == (IdRange(), {None})
    # None of them may look like an empty page that goes on.
    assert not any(page.is_empty for page in pages[:2])


def busy(change: Callable[[OcpiProvider], None], **conduct: Any) -> list[Page]:
    """Six locations in three pages; something changes after the first one was read, and another worker goes on."""
    server = OcpiProvider([location(number) for number in range(6)], most=2, **conduct)

    async def main() -> list[Page]:
        pages: list[Page] = []
        async with provider(server) as told:
            while not pages or not pages[-1].last:
                async with opened(told.url) as source:
                    pages.append(await source.fetch(ShardKey.parse(FULL), pages[-1].cursor if pages else None))
                if len(pages) == 1:
                    change(server)
        return pages

    return asyncio.run(main())


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize(
    ("change", "total"),
    [(lambda server: server.locations.pop(0), 5), (lambda server: server.locations.insert(0, location(9)), 7)],
    ids=["deleted", "added"],
)
def test_a_count_that_changes_while_we_read_is_told(
    change: Callable[[OcpiProvider], None], total: int, *, links: bool
) -> None:
    pages = busy(change, links=links)
    told = [page.moved for page in pages]
    assert told == [None, f"the total changed from 6 to {total} while it was read"] + [None] * (len(pages) - 2)


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("counts", [True, False])
def test_what_several_pages_lack_is_certainly_gone_only_when_the_count_agrees(*, links: bool, counts: bool) -> None:
    pages = busy(lambda _server: None, links=links, counts=counts)
    assert (pages[-1].certain, {page.moved for page in pages}) == (counts, {None})


@pytest.mark.parametrize("links", [True, False])
def test_a_count_that_is_not_told_to_the_end_is_not_believed(*, links: bool) -> None:
    pages = busy(lambda server: setattr(server, "counts", False), links=links)
    assert (pages[-1].certain, {page.moved for page in pages}) == (False, {None})


@pytest.mark.parametrize("total", ["1", "2", "7"])
def test_a_count_that_contradicts_what_came_is_not_believed(total: str) -> None:
    def answer(request: str) -> bytes:
        first = "offset=0" in request
        headers = {"X-Total-Count": total} | ({"Link": '</ocpi/2.2.1/locations?offset=2>; rel="next"'} if first else {})
        found = [location(number) for number in ((1, 2) if first else (3,))]
        return http({"data": found, "status_code": 1000}, headers=headers, keep_alive=True)

    pages, _ = bring(answer)
    assert (len(pages), pages[-1].certain, pages[-1].moved) == (2, False, None)


@pytest.mark.parametrize("counts", [True, False])
def test_one_answer_is_certain_where_it_is_known_to_be_the_only_one(*, counts: bool) -> None:
    pages, _ = bring(OcpiProvider([location(1)], counts=counts))
    assert (len(pages), pages[-1].certain) == ((1, True) if counts else (2, False))


def test_a_window_does_not_care() -> None:
    server = OcpiProvider([location(number) for number in range(6)], most=2)

    async def main() -> list[Page]:
        async with provider(server) as told, opened(told.url) as source:
            first = await source.fetch(ShardKey.parse(HOUR), None)
            server.locations.pop()
            return [first, await source.fetch(ShardKey.parse(HOUR), first.cursor)]

    assert [page.moved for page in asyncio.run(main())] == [None, None]


@pytest.mark.parametrize("total", [None, "3", "100"])
def test_links_in_a_circle_lead_to_a_cursor_again(total: str | None) -> None:
    headers = {"Link": '</ocpi/2.2.1/locations?again>; rel="next"'} | ({"X-Total-Count": total} if total else {})
    again = http({"data": [location(1), location(2)], "status_code": 1000}, headers=headers, keep_alive=True)

    async def main() -> None:
        cursor, seen = None, set[str | None]()
        async with provider(again) as told, opened(told.url) as source:
            while cursor not in seen:
                seen.add(cursor)
                cursor = (await source.fetch(ShardKey.parse(FULL), cursor)).cursor
                assert len(seen) < 60

    asyncio.run(main())


def test_another_worker_goes_on_where_this_one_was() -> None:
    server = OcpiProvider([location(number) for number in range(5)], most=2, links=False)

    async def main() -> list[Page]:
        async with provider(server) as told:
            pages: list[Page] = []
            while not pages or not pages[-1].last:
                source = build(f'versions = "{told.url}/ocpi/versions"')
                pages.append(await source.fetch(ShardKey.parse(FULL), pages[-1].cursor if pages else None))
                await source.close()
            return pages

    assert ids(asyncio.run(main())) == expected("2.2.1", 5)


@each_version
@pytest.mark.parametrize("encode", [True, False])
def test_the_token_is_encoded_as_the_file_says(version: str, *, encode: bool) -> None:
    server = OcpiProvider([location(1, version)], encoded=encode)
    pages, told = bring(server, version, f"encode_token = {str(encode).lower()}")
    assert len(ids(pages)) == 1
    assert told.header("Authorization")[0] is not None
    with pytest.raises(AccessDenied, match=r"refuses our key \(401\)") as refusal:
        bring(server, version, f"encode_token = {str(not encode).lower()}")
    assert "hunter2" not in str(refusal.value)
    assert "PLUGS" in str(refusal.value.next_step)


def test_a_window_is_asked_for_and_cut_here_too() -> None:
    times = ["2026-02-21T09:49:59Z", "2026-02-21T09:50:00Z", "2026-02-21T10:59:59Z", "2026-02-21T11:00:00Z"]
    server = OcpiProvider([location(number, last_updated=time) for number, time in enumerate(times)])
    pages, told = bring(server, shard=HOUR)
    assert ids(pages) == ["plugs:NL*ABC*LOC1", "plugs:NL*ABC*LOC2"]
    assert (told.asked()[0]["date_from"], told.asked()[0]["date_to"]) == (
        "2026-02-21T09:50:00Z",
        "2026-02-21T11:00:00Z",
    )
    assert pages[0].covers is None
    everything = http({"data": server.locations, "status_code": 1000}, headers={"X-Total-Count": "4"})
    assert ids(bring(everything, shard=HOUR, more="")[0]) == ids(pages)


def one(record: dict[str, Any], version: str = "2.2.1") -> Page:
    return bring(OcpiProvider([record]), version)[0][0]


def test_a_location_becomes_a_place() -> None:
    fast = {"standard": "IEC_62196_T2_COMBO", "power_type": "DC", "max_voltage": 920, "max_amperage": 500}
    evses = [
        {"uid": "1", "status": "AVAILABLE", "connectors": [fast | {"max_electric_power": 300_000}, fast]},
        {"uid": "2", "status": "CHARGING", "connectors": [fast | {"max_electric_power": 300_000}]},
        {"uid": "3", "status": "REMOVED", "connectors": [fast]},
    ]
    place = one(location(7, evses=evses, state="Utrecht", country="DEU")).fetched[0].place
    assert (place.external_id, place.source, place.name) == ("plugs:NL*ABC*LOC7", "plugs", "Station 7")
    assert (place.lat, place.lon, place.country) == (52.007, 5.007, "DE")
    assert (place.address.street, place.address.town, place.address.region, place.address.postcode) == (
        "Straat 7",
        "Utrecht",
        "Utrecht",
        "3511",
    )
    assert (place.operator, place.categories, place.status) == ("Plug & Co", ("charging",), "operational")
    assert place.attributes.connectors == (Connector("CCS (Type 2)", 300.0, 2), Connector("CCS (Type 2)", 460.0, 1))
    assert (place.attributes.power_kw, place.attributes.points) == (460.0, 2)
    assert place.provider_updated_at == datetime(2026, 2, 21, 10, 30, tzinfo=UTC)


@each_version
def test_power_is_computed_from_what_each_version_tells(version: str) -> None:
    attributes = one(location(1, version), version).fetched[0].place.attributes
    assert attributes.connectors == (Connector("Type 2", 22.08, 1),)


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (["AVAILABLE", "CHARGING"], "operational"),
        (["BLOCKED"], "operational"),
        (["RESERVED", "UNKNOWN"], "operational"),
        (["AVAILABLE", "OUTOFORDER"], "limited"),
        (["INOPERATIVE", "OUTOFORDER"], "closed"),
        (["REMOVED"], "closed"),
        (["REMOVED", "AVAILABLE"], "operational"),
        (["PLANNED", "PLANNED"], "planned"),
        (["PLANNED", "AVAILABLE"], "operational"),
        (["UNKNOWN"], "unknown"),
        (["SOMETHING_NEW"], "unknown"),
        ([], "unknown"),
    ],
)
def test_the_status_is_that_of_all_its_points(statuses: list[str], status: str) -> None:
    evses = [{"uid": str(number), "status": each, "connectors": []} for number, each in enumerate(statuses)]
    assert one(location(1, evses=evses)).fetched[0].place.status == status


@pytest.mark.parametrize(
    ("standard", "name"),
    [
        ("CHADEMO", "CHAdeMO"),
        ("DOMESTIC_F", "Domestic socket, type F"),
        ("IEC_60309_2_three_32", "IEC 60309, three 32"),
        ("NEMA_14_50", "NEMA 14 50"),
        ("SOME_NEW_ONE", "SOME NEW ONE"),
        ("", "unknown"),
    ],
)
def test_standards_have_names(standard: str, name: str) -> None:
    assert name_of(standard) == name


def test_what_may_not_be_published_is_left_out() -> None:
    page = one(location(1, publish=False))
    assert (page.fetched, page.rejects, page.received) == ((), (), 1)


@pytest.mark.parametrize(
    ("record", "reason", "external_id"),
    [
        (location(1, coordinates={"latitude": "north", "longitude": "5"}), "latitude 'north'", "plugs:NL*ABC*LOC1"),
        (location(1, coordinates={"latitude": "52", "longitude": "181"}), "longitude '181'", "plugs:NL*ABC*LOC1"),
        (location(1, coordinates={"latitude": "nan", "longitude": "5"}), "latitude 'nan'", "plugs:NL*ABC*LOC1"),
        (location(1, coordinates=None), "coordinates", "plugs:NL*ABC*LOC1"),
        (
            location(1, evses=[{"connectors": [{"max_electric_power": "much"}]}]),
            "max_electric_power",
            "plugs:NL*ABC*LOC1",
        ),
        (location(1, last_updated="0001-01-01T00:00:00+14:00"), "not one in UTC", "plugs:NL*ABC*LOC1"),
        (location(1, party_id=None), "country_code and party_id", None),
        (location(1) | {"id": 7}, "id", None),
        (location(1) | {"id": " "}, "it has no id", None),
    ],
)
def test_what_is_no_place_is_set_aside_with_its_reason(record: Any, reason: str, external_id: str | None) -> None:
    page = one(record)
    (reject,) = page.rejects
    assert reason in reject.reason
    assert reject.external_id == external_id
    assert json.loads(reject.record) == record


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ({"data": [], "status_code": 2001, "status_message": f"bad {TOKEN}"}, ProviderRejected, "2001, bad "),
        ({"data": [], "status_code": 3000}, ProviderUnavailable, "3000, without a message"),
        ({"data": [], "status_code": 4001}, ProviderUnavailable, "4001"),
        ({"status_code": 1000}, ProviderUnavailable, "no data"),
        ({"data": {}, "status_code": 1000}, ProviderUnavailable, "not a JSON array"),
        ({"data": None, "status_code": 1000}, ProviderUnavailable, "not a JSON array"),
        ({"data": []}, ProviderUnavailable, "not OCPI"),
        ([], ProviderUnavailable, "not a JSON object"),
        (b"<html>", ProviderUnavailable, "not a JSON object"),
    ],
)
def test_what_the_provider_says_decides_what_becomes_of_it(body: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as refusal:
        bring(http(body))
    assert TOKEN not in str(refusal.value)


def test_a_version_that_the_provider_does_not_have_is_told_with_those_it_has() -> None:
    with pytest.raises(ProviderRejected, match=r"no version 2\.2\.1; it has 2\.1\.1, 2\.2"):
        discover(OcpiProvider(versions=("2.1.1", "2.2")), "2.2.1")


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [{"version": "2.2.1", "url": "https://elsewhere.example/2.2.1"}], "status_code": 1000},
        {"data": [{"version": "2.2.1", "url": "//elsewhere.example"}], "status_code": 1000},
    ],
)
def test_versions_that_lead_elsewhere_are_not_followed(answer: object) -> None:
    with pytest.raises(OutsideScope, match="elsewhere"):
        discover(http(answer), "2.2.1")


def test_a_provider_that_ignores_the_offset_is_noticed() -> None:
    with pytest.raises(StuckCursor, match="ignore the offset"):
        bring(http({"data": [location(1)], "status_code": 1000}, keep_alive=True))


@pytest.mark.parametrize(
    "cursor", ["x", "offset:", "offset:x:::/a", "offset:1:/a", "offset:1::/a", "at", "at:/a", "page:2"]
)
def test_a_cursor_of_another_release_is_refused(cursor: str) -> None:
    async def main() -> None:
        async with opened("http://127.0.0.1:1") as source:
            await source.fetch(ShardKey.parse(FULL), cursor)

    with pytest.raises((BadCursor, OutsideScope)):
        asyncio.run(main())


def test_plans_are_for_everything_and_for_windows() -> None:
    source = build('url = "https://ocpi.example/locations"')
    assert [str(shard) for shard in source.plan(Scope(), date(2026, 2, 21))] == [FULL]
    assert (sorted(source.plans), sorted(source.cuts)) == (["all", "window"], ["window"])
    assert source.first_address(ShardKey.parse(FULL)) == "https://ocpi.example/locations?offset=0&limit=1000"
    for shard in ("plugs/country:DE/full:x", "other/full:x", f"{FULL}/ids:1..2"):
        with pytest.raises(BadShardKey):
            source.first_address(ShardKey.parse(shard))
    leading = build('versions = "https://ocpi.example/versions"')
    assert leading.first_address(ShardKey.parse(FULL)) == "https://ocpi.example/versions"


@each_version
def test_a_check_makes_one_request(version: str) -> None:
    async def main() -> Provider:
        async with provider(OcpiProvider([])) as told, opened(told.url, version) as source:
            await source.check()
            return told

    assert asyncio.run(main()).asked() == [{"offset": "0", "limit": "1"}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "either url"),
        ('url = "https://a/"\nversions = "https://b/"', "either url"),
        ('url = "https://ada:x@host/"', "url: write it like"),
        ('url = "https://a/"\nversion = "3.0"', "version: Invalid enum value '3.0'; write one of 2.1.1, 2.2, 2.2.1"),
        ('url = "https://a/"\nlimit = 0', "limit should be at least 1"),
        ('url = "https://a/"\nverison = "2.2"', r"there is no key verison; .*Did you mean version\?"),
    ],
)
def test_a_file_that_makes_no_sense_is_told_by_its_key(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        build(text)


def test_a_token_that_is_not_set_is_told_by_its_variable() -> None:
    with pytest.raises(SettingError, match="the variable PLUGS is not set"):
        build('url = "https://a/"', {"OTHER": "x"})
