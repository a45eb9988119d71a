"""The Open Charge Map source against a little provider on loopback that answers as it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import msgspec
import pytest

from support.told_provider import Provider, Told, dripping, endless, http, provider, silent
from waypost.adapters.sources.http import ProviderRejected
from waypost.adapters.sources.ocm.records import OcmRecord
from waypost.adapters.sources.ocm.source import OcmSource
from waypost.importing.cuts import IdRange
from waypost.importing.settings import ImportingSettings, OcmSettings
from waypost.importing.source import (
    AccessDenied,
    BadCursor,
    OutsideScope,
    Page,
    ProviderRefused,
    ProviderUnavailable,
    Scope,
)
from waypost.kernel.configuration import Secret
from waypost.kernel.errors import WaypostError
from waypost.places.place import Address, Connector
from waypost.scaling.jobs.shard_keys import ShardKey

KEY = "hunter2"
SHARD = ShardKey("ocm", (("country", "DE"), ("full", "2026-02-21")))


@asynccontextmanager
async def source(
    url: str, *, key: str = KEY, timeout: float = 30, max_answer: int = 1_000_000
) -> AsyncIterator[OcmSource]:
    opened = OcmSource(OcmSettings(url, Secret(key), ""), ImportingSettings(100, timeout, max_answer, 100, 0.2, 0.2))
    try:
        yield opened
    finally:
        await opened.close()


def record(number: Any, *, country: str | None = "DE", lat: Any = 50.0, **more: Any) -> dict[str, Any]:
    where = {"Title": f"Place {number}", "Latitude": lat, "Longitude": 10.0, "Country": {"ISOCode": country}}
    return {"ID": number, "AddressInfo": where} | more


def fetch(*answers: Told, cursor: str | None = None, **limits: Any) -> Page:
    async def ask() -> Page:
        async with provider(*answers) as told, source(told.url, **limits) as opened:
            return await opened.fetch(SHARD, cursor)

    return asyncio.run(ask())


def numbers(page: Page) -> list[str]:
    return [fetched.place.external_id for fetched in page.fetched]


def test_pages_follow_the_ids_until_an_answer_is_empty() -> None:
    async def walk() -> tuple[list[Page], Provider]:
        pages: list[Page] = []
        answers = (http([record(3), record(9)]), http([record(12)]), http([]))
        async with provider(*answers) as told, source(told.url) as opened:
            while not pages or not pages[-1].last:
                pages.append(await opened.fetch(SHARD, pages[-1].cursor if pages else None))
        return pages, told

    pages, told = asyncio.run(walk())
    assert [numbers(page) for page in pages] == [["ocm:3", "ocm:9"], ["ocm:12"], []]
    assert [(page.cursor, page.last) for page in pages] == [("after:9", False), ("after:12", False), ("after:12", True)]
    assert [asked["greaterthanid"] for asked in told.asked()] == ["0", "9", "12"]
    assert {(asked["countrycode"], asked["sortby"], asked["maxresults"]) for asked in told.asked()} == {
        ("DE", "id_asc", "100")
    }


def test_a_shard_that_is_empty_from_the_start_ends_at_once() -> None:
    assert fetch(http([])) == Page((), (), None, last=True, covers=IdRange(1))


def test_a_short_page_does_not_end_a_shard() -> None:
    assert not fetch(http([record(3)])).last


@pytest.mark.parametrize("ids", [[5000, 4999, 4998], [3, 9, 4], [9, "no number", 4]])
def test_ids_that_go_back_are_refused(ids: list[Any]) -> None:
    """A proxy that drops `sortby` would make one page, and a great gap, of a country."""
    with pytest.raises(OutsideScope, match=r"ids above 0 in ascending order, the provider sent 4\d* after \d+: does"):
        fetch(http([record(number) for number in ids]))


def test_a_record_that_is_set_aside_has_its_place_in_the_order_too() -> None:
    with pytest.raises(OutsideScope, match="ids above 0 in ascending order, the provider sent 4 after 9"):
        fetch(http([record(9), record(4, lat=91)]))


def test_an_id_that_comes_twice_in_a_row_skips_nothing() -> None:
    page = fetch(http([record(3), record(3), record(9)]))
    assert (numbers(page), page.cursor) == (["ocm:3", "ocm:3", "ocm:9"], "after:9")


def test_the_record_is_kept_as_it_came() -> None:
    raw = b'[ {"ID": 3, "Odd" :null, "AddressInfo":{"Latitude":50,"Longitude":1e1}} ]'
    assert fetch(http(raw)).fetched[0].record == raw[2:-2]


def test_the_whole_world_instead_of_a_country_is_refused() -> None:
    with pytest.raises(OutsideScope, match="asked for DE, the provider sent ocm:4 in FR"):
        fetch(http([record(3), record(4, country="FR")]))


@pytest.mark.parametrize("number", [7, 6, 0, -1])
def test_an_id_that_is_not_above_the_cursor_is_refused(number: int) -> None:
    with pytest.raises(
        OutsideScope, match=f"asked for ids above 7 in ascending order, the provider sent {number} after 8:"
    ):
        fetch(http([record(8), record(number)]), cursor="after:7")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (record(4, lat=90.1), "latitude 90.1 is not on Earth"),
        (record(4, lat=None), "AddressInfo.Latitude"),
        (record(4, lat="north"), "AddressInfo.Latitude"),
        (record(4, Connections=[{"PowerKW": "fast"}]), "PowerKW"),
        (record("4"), r"ID"),
        ({"ID": 4}, "AddressInfo"),
        ({"ID": 4, "AddressInfo": {"Latitude": 1.0, "Longitude": -180.5}}, "longitude -180.5 is not on Earth"),
        ("a text", "Expected `object`"),
        (None, "Expected `object`"),
    ],
)
def test_what_is_no_place_is_set_aside_with_its_reason_and_the_rest_is_taken(wrong: object, reason: str) -> None:
    page = fetch(http([record(3), wrong, record(5)]))
    assert numbers(page) == ["ocm:3", "ocm:5"]
    (reject,) = page.rejects
    assert reason in reject.reason
    assert json.loads(reject.record) == wrong


def test_text_that_is_no_utf_8_is_set_aside_too() -> None:
    broken = json.dumps(record(4)).encode().replace(b"Place", b"Pl\xffce")
    page = fetch(http(b"[" + json.dumps(record(3)).encode() + b"," + broken + b"]"))
    assert (numbers(page), len(page.rejects), page.cursor) == (["ocm:3"], 1, "after:4")


def test_the_cursor_passes_over_what_was_set_aside() -> None:
    assert fetch(http([record(3), record(8, lat=91)])).cursor == "after:8"


@pytest.mark.parametrize("cursor", ["", "7", "after:", "after:x", "after:-1", "before:7", "after:²"])
def test_a_cursor_of_another_release_is_refused_before_anybody_is_asked(cursor: str) -> None:
    async def ask() -> Provider:
        async with provider(http([])) as told, source(told.url) as opened:
            with pytest.raises(BadCursor):
                await opened.fetch(SHARD, cursor)
        return told

    assert asyncio.run(ask()).requests == []


def test_the_key_goes_into_a_header_and_nowhere_else() -> None:
    async def ask() -> tuple[Provider, OcmSource]:
        async with provider(http([])) as told, source(told.url) as opened:
            await opened.check()
            return told, opened

    told, opened = asyncio.run(ask())
    line, *headers = told.requests[0].splitlines()
    assert KEY not in line
    assert "x-api-key: hunter2" in [header.lower() for header in headers]
    assert KEY not in opened.provider + opened.budget_key


def test_each_key_and_each_provider_has_a_budget_of_its_own() -> None:
    def budget(url: str, key: str) -> str:
        return OcmSource(OcmSettings(url, Secret(key), ""), ImportingSettings(100, 1, 1, 100, 0.2, 0.2)).budget_key

    keys = {budget(url, key) for url in ("http://one", "http://two") for key in ("", "a", "b")}
    assert len(keys) == 6
    assert budget("http://one", "a") in keys


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_is_told_without_naming_it(status: int) -> None:
    with pytest.raises(AccessDenied, match=rf"refuses our key \({status}\)") as refusal:
        fetch(http({"your key": KEY}, status=status))
    assert KEY not in f"{refusal.value} {refusal.value!r} {refusal.value.next_step}"
    assert "WAYPOST_OCM_KEY" in str(refusal.value.next_step)


@pytest.mark.parametrize("key", ["hunter2\n", "hunter2\r\nHost: elsewhere", "hünter2hunter2", "hunter2\0"])
def test_a_key_that_no_header_can_carry_is_refused_without_naming_it(key: str) -> None:
    with pytest.raises(WaypostError) as refusal:
        fetch(http([]), key=key)
    assert KEY not in f"{refusal.value} {refusal.value!r}"


@pytest.mark.parametrize(
    ("status", "headers", "pause"),
    [
        (429, {"Retry-After": "7"}, 7),
        (429, {"Retry-After": "86400"}, 86_400),
        (429, {"Retry-After": "0"}, 0),
        (429, {}, None),
        (429, {"Retry-After": "later"}, None),
        (429, {"Retry-After": ""}, None),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}, 30),
        (429, {"X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "30"}, None),
        (503, {"Retry-After": "120"}, 120),
    ],
)
def test_who_is_asked_to_wait_is_told_for_how_long(status: int, headers: dict[str, str], pause: float | None) -> None:
    with pytest.raises(ProviderRefused) as refusal:
        fetch(http(status=status, headers=headers))
    assert refusal.value.retry_after == pause


def test_retry_after_may_be_a_date() -> None:
    later = datetime.now(UTC) + timedelta(hours=2)
    with pytest.raises(ProviderRefused) as refusal:
        fetch(http(status=429, headers={"Retry-After": format_datetime(later, usegmt=True)}))
    assert 7000 < refusal.value.retry_in <= 7200


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_provider_that_fails_is_worth_another_try(status: int) -> None:
    with pytest.raises(ProviderUnavailable, match=rf"failed \({status}\)"):
        fetch(http(status=status))


@pytest.mark.parametrize("status", [204, 400, 404, 410])
def test_an_answer_that_is_no_answer_is_not_asked_for_again(status: int) -> None:
    with pytest.raises(ProviderRejected, match=rf"does not take this request \({status}\)"):
        fetch(http(b"", status=status))


def test_a_redirect_is_not_followed_with_our_key() -> None:
    async def ask() -> tuple[Provider, Provider]:
        async with provider(http([])) as elsewhere:
            moved = http(status=302, headers={"Location": f"{elsewhere.url}/v3/poi"})
            async with provider(moved) as told, source(told.url) as opened:
                with pytest.raises(ProviderRejected, match=r"\(302\)"):
                    await opened.fetch(SHARD, None)
            return told, elsewhere

    told, elsewhere = asyncio.run(ask())
    assert (len(told.requests), elsewhere.requests) == (1, [])


def test_a_provider_that_is_not_there_is_worth_another_try() -> None:
    async def ask() -> None:
        async with provider(http([])) as told:
            url = told.url
        async with source(url) as opened:
            await opened.check()

    with pytest.raises(ProviderUnavailable, match="does not answer") as refusal:
        asyncio.run(ask())
    assert "WAYPOST_OCM_URL" in str(refusal.value.next_step)


@pytest.mark.parametrize(
    "body", [b"", b"<html>busy</html>", b'{"error": "busy"}', b"null", b'[{"ID": 3', b"[1,]", b"\xff\xfe", b'"\xff"']
)
def test_an_answer_that_is_no_json_array_is_worth_another_try(body: bytes) -> None:
    with pytest.raises(ProviderUnavailable, match="not a JSON array"):
        fetch(http(body))


def test_an_answer_that_breaks_off_is_not_taken_for_the_end() -> None:
    whole = http([record(3), record(4)])
    with pytest.raises(ProviderUnavailable, match="does not answer"):
        fetch(whole[:-10])


def test_an_answer_that_is_not_http_is_worth_another_try() -> None:
    with pytest.raises(ProviderUnavailable, match="does not answer"):
        fetch(b"220 smtp.example.org ready\r\n\r\n")


@pytest.mark.parametrize("answer", [endless, http(b" " * 10_001)])
def test_an_answer_larger_than_the_bound_is_refused(answer: Told) -> None:
    with pytest.raises(ProviderRejected, match=r"larger than 10000 bytes \(import\.max_answer\)"):
        fetch(answer, max_answer=10_000)


def test_an_answer_of_just_the_bound_is_taken() -> None:
    assert fetch(http(b"[]".ljust(10_000)), max_answer=10_000).last


@pytest.mark.parametrize("answer", [dripping, silent])
def test_an_answer_that_takes_too_long_is_cut_off(answer: Told) -> None:
    with pytest.raises(ProviderUnavailable, match="does not answer"):
        fetch(answer, timeout=0.2)


def test_a_plan_has_one_shard_a_country_and_day() -> None:
    planner = OcmSource(OcmSettings("http://one", Secret(""), ""), ImportingSettings(100, 1, 1, 100, 0.2, 0.2))
    shards = planner.plan(Scope(("DE", "FR")), date(2026, 2, 21))
    assert [str(shard) for shard in shards] == ["ocm/country:DE/full:2026-02-21", "ocm/country:FR/full:2026-02-21"]


def decode(**fields: Any) -> OcmRecord:
    return msgspec.convert(record(2388) | fields, OcmRecord)


def test_a_record_becomes_a_place() -> None:
    address = {
        "Title": " Rathaus ",
        "AddressLine1": "Markt 1",
        "Town": "Łódź",
        "StateOrProvince": "",
        "Postcode": "  ",
        "Latitude": 51.75,
        "Longitude": 19.46,
        "Country": {"ISOCode": "PL", "Title": "Poland"},
    }
    place = decode(
        AddressInfo=address,
        OperatorInfo={"Title": "Plug & Co"},
        Connections=[
            {"ConnectionTypeID": 33, "ConnectionType": {"Title": "CCS (Type 2)"}, "PowerKW": 150.0, "Quantity": 2},
            {"ConnectionTypeID": 25, "PowerKW": None, "Quantity": None},
            {"ConnectionType": {"Title": ""}, "PowerKW": 22},
        ],
        NumberOfPoints=4,
        StatusTypeID=50,
        DateLastStatusUpdate="2026-02-21T10:30:00",
    ).to_place()
    assert (place.external_id, place.source, place.name, place.country) == ("ocm:2388", "ocm", "Rathaus", "PL")
    assert (place.lat, place.lon, place.operator, place.status) == (51.75, 19.46, "Plug & Co", "operational")
    assert place.address == Address(street="Markt 1", town="Łódź")
    assert place.categories == ("charging",)
    assert place.attributes.connectors == (
        Connector("CCS (Type 2)", 150.0, 2),
        Connector("type 25", None, 1),
        Connector("type 0", 22, 1),
    )
    assert (place.attributes.power_kw, place.attributes.points) == (150.0, 4)
    assert place.provider_updated_at == datetime(2026, 2, 21, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("title", "town", "name"),
    [("Rathaus", "Ulm", "Rathaus"), ("  ", "Ulm", "Ulm"), (None, "", "ocm:2388"), ("", None, "ocm:2388")],
)
def test_a_place_without_a_title_is_called_by_what_there_is(title: str | None, town: str | None, name: str) -> None:
    where = {"Title": title, "Town": town, "Latitude": 1, "Longitude": 2}
    assert decode(AddressInfo=where).to_place().name == name


@pytest.mark.parametrize("country", [None, {"ISOCode": None}, {"ISOCode": " "}, {}])
def test_a_place_without_a_country_belongs_to_the_one_that_was_asked_for(country: object) -> None:
    where = {"Latitude": 1, "Longitude": 2, "Country": country}
    assert decode(AddressInfo=where).to_place().country is None
    page = fetch(http([{"ID": 3, "AddressInfo": where}]))
    assert [fetched.place.country for fetched in page.fetched] == ["DE"]


@pytest.mark.parametrize("operator", [None, {"Title": None}, {"Title": ""}, {}])
def test_an_operator_without_a_name_is_none(operator: object) -> None:
    assert decode(OperatorInfo=operator).to_place().operator is None


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (10, "operational"),
        (20, "operational"),
        (30, "limited"),
        (50, "operational"),
        (75, "limited"),
        (100, "closed"),
        (150, "planned"),
        (200, "closed"),
        (210, "closed"),
        (0, "unknown"),
        (999, "unknown"),
        (None, "unknown"),
    ],
)
def test_statuses_are_told_in_our_words(number: int | None, status: str) -> None:
    assert decode(StatusTypeID=number).to_place().status == status


@pytest.mark.parametrize("connections", [None, []])
def test_a_place_may_have_no_connectors(connections: object) -> None:
    attributes = decode(Connections=connections).to_place().attributes
    assert (attributes.connectors, attributes.power_kw, attributes.points) == ((), None, None)


def test_a_time_with_an_offset_is_kept_in_utc() -> None:
    place = decode(DateLastStatusUpdate="2026-02-21T10:30:00+02:00").to_place()
    assert place.provider_updated_at == datetime(2026, 2, 21, 8, 30, tzinfo=UTC)
    assert decode(DateLastStatusUpdate=None).to_place().provider_updated_at is None
