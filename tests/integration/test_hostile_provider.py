"""Providers that lie, flood, drip and repeat our key: through whole sources, over real connections."""

import asyncio
import gzip
import json
import logging
import traceback
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.lighthouses import light, open_source
from support.told_provider import Told, Writer, dripping, endless, http, provider, silent
from waypost.adapters.sources.http import ProviderRejected
from waypost.adapters.sources.ocm.source import OcmSource
from waypost.adapters.sources.ocpi.source import OcpiSource
from waypost.adapters.sources.ocpi.source import make as make_ocpi
from waypost.importing.definitions import SourceContext
from waypost.importing.settings import ImportingSettings, OcmSettings
from waypost.importing.source import OutsideScope, Page, ProviderUnavailable, Source
from waypost.kernel.configuration import Secret
from waypost.kernel.errors import WaypostError
from waypost.places.licence import Licence
from waypost.scaling.jobs.shard_keys import ShardKey

KEY = "hunter2-0123456789abcdef"
MOST = 20_000_000

Opening = Callable[[str, float], AbstractAsyncContextManager[Source]]


@asynccontextmanager
async def ocm(url: str, timeout: float) -> AsyncIterator[OcmSource]:
    source = OcmSource(OcmSettings(url, Secret(KEY), ""), ImportingSettings(100, timeout, MOST, 100, 0.2, 0.2))
    try:
        yield source
    finally:
        await source.close()


@asynccontextmanager
async def json_api(url: str, timeout: float) -> AsyncIterator[Source]:
    text = 'records = "data"\n[auth]\nvalue = "Token {K}"\n[pagination]\nkind = "link"'
    async with open_source(f"{url}/lights", text, environ={"K": KEY}, timeout=timeout, max_answer=MOST) as source:
        yield source


@asynccontextmanager
async def keyset(url: str, timeout: float) -> AsyncIterator[Source]:
    text = 'records = "data"\n[pagination]\nkind = "keyset"\nparameter = "after"'
    async with open_source(f"{url}/lights", text, timeout=timeout, max_answer=MOST) as source:
        yield source


@asynccontextmanager
async def ocpi(url: str, timeout: float) -> AsyncIterator[OcpiSource]:
    importing = ImportingSettings(100, timeout, MOST, 100, 0.2, 0.2)
    context = SourceContext("plugs", Licence("CC0", "Plug"), importing, Path(), {"K": KEY})
    source = make_ocpi({"url": f"{url}/locations", "token": "K"}, context)
    try:
        yield source
    finally:
        await source.close()


SOURCES: dict[str, tuple[Opening, str]] = {
    "ocm": (ocm, "ocm/country:DE/full:2026-02-21"),
    "json-api": (json_api, "lights/full:2026-02-21"),
    "ocpi": (ocpi, "plugs/full:2026-02-21"),
}
each_source = pytest.mark.parametrize("kind", [*SOURCES])
SOURCES["keyset"] = (keyset, "lights/full:2026-02-21")


def fetch(kind: str, answer: Told, timeout: float = 30) -> Page:
    opening, shard = SOURCES[kind]

    async def main() -> Page:
        async with provider(answer) as told, opening(told.url, timeout) as source:
            return await source.fetch(ShardKey.parse(shard), None)

    return asyncio.run(main())


def wrapped(kind: str, records: bytes) -> bytes:
    return records if kind == "ocm" else b'{"status_code":1000,"data":' + records + b"}"


def failure(kind: str, answer: Told, timeout: float = 30) -> WaypostError:
    with pytest.raises(WaypostError) as caught:
        fetch(kind, answer, timeout)
    assert_no_key(caught.value)
    return caught.value


def assert_no_key(error: BaseException) -> None:
    """Not in what the error says, nor in any error behind it."""
    seen: BaseException | None = error
    while seen:
        shown = "".join(traceback.format_exception_only(seen))
        assert "hunter2" not in f"{shown} {seen!r} {getattr(seen, 'next_step', '')}"
        seen = seen.__cause__ or seen.__context__


DEEP = 10_000_000
LONG_AGO = (
    b'{"ID":1,"id":1,"AddressInfo":{"Latitude":1,"Longitude":1},"position":{"lat":1,"lon":1},'
    b'"DateLastStatusUpdate":"0001-01-01T00:00:00+14:00","changed":"0001-01-01T00:00:00+14:00"}'
)


@each_source
@pytest.mark.parametrize(
    "body",
    [
        b"[" * DEEP,
        b'{"data":' * (DEEP // 8),
        b"[" + b'{"a":' * 1_000_000,
        b'{"data":[' + b"[" * DEEP,
        b'[{"ID":1,"id":1,"x":' + b"[" * DEEP + b"]",
        b"\xff\xfe\xfd",
        b'"' + b"x" * 1_000_000,
        b"\x00" * 1000,
        b"null",
        b"true",
        b"0",
        b'{"data": null}',
        b'{"error": "' + KEY.encode() + b'"}',
        json.dumps({KEY: {KEY: KEY}}).encode(),
        f"<html>{KEY}</html>".encode(),
        f"[{KEY}]".encode(),
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_no_answer_is_worth_another_try_and_never_a_crash(kind: str, body: bytes) -> None:
    assert isinstance(failure(kind, http(body)), ProviderUnavailable)


@each_source
@pytest.mark.parametrize(
    "record",
    [
        b"[" * 5000 + b"]" * 5000,
        b'{"ID":1,"id":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"ID":"\xff","id":"\xff"}',
        b'{"ID":1e999,"id":1e999}',
        b'{"ID":' + b"9" * 5000 + b',"id":' + b"9" * 5000 + b"}",
        b'{"ID":{},"id":{},"AddressInfo":[],"position":7}',
        b'{"ID":1,"id":1,"AddressInfo":{"Latitude":"x","Longitude":[]},"position":{"lat":"x","lon":[]}}',
        b'{"ID":1,"id":1,"AddressInfo":{"Latitude":1e308,"Longitude":-1e308},"position":{"lat":1e308,"lon":-1e308}}',
        LONG_AGO,
        b"7",
        b"null",
        b"true",
        b'"text"',
    ],
    ids=lambda record: repr(record[:32]),
)
def test_one_bad_record_is_set_aside_or_told_and_never_a_crash(kind: str, record: bytes) -> None:
    body = wrapped(kind, b"[" + record + b"]")
    try:
        page = fetch(kind, http(body))
    except ProviderUnavailable as error:
        # Nested too deeply even to be skipped.
        assert "nested too deeply" in str(error)  # noqa: PT017 - both are fine, and nothing else is
    else:
        assert (len(page.rejects), page.fetched) == (1, ())


def record_of(kind: str, number: int, name: str = "fine") -> bytes:
    """With what each source wants of a record, and a name as it stands in JSON."""
    where = b'"AddressInfo":{"Latitude":1,"Longitude":1},"position":{"lat":1,"lon":1}'
    coordinates = b'"coordinates":{"latitude":"1.0","longitude":"1.0"},"country_code":"DE","party_id":"ABC"'
    known = b'"%d"' % number if kind == "ocpi" else b"%d" % number
    return b'{"ID":%b,"id":%b,"name":"%b",%b,%b}' % (known, known, name.encode(), where, coordinates)


HALVES = [r"half \ud83d pair", r"\ude00", r"\ud83d\ud83d\ude00", r"\\\uD83D", r"\ud83d"]


@each_source
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("bad", [0, 4])
def test_half_of_a_character_sets_its_record_aside_and_no_other(kind: str, name: str, bad: int) -> None:
    records = [
        record_of(kind, number, name if number == bad + 1 else r"\ud83d\ude00 \\ud83d") for number in range(1, 6)
    ]
    page = fetch(kind, http(wrapped(kind, b"[" + b" ,\n".join(records) + b"]")))
    assert len(page.fetched) == 4
    assert [reject.record for reject in page.rejects] == [records[bad]]
    assert "half of a character" in page.rejects[0].reason
    # Known by its id, it is not taken for deleted.
    assert str(page.rejects[0].external_id).endswith(f"{bad + 1}")


@each_source
@pytest.mark.parametrize(
    "rest", [b"", b",", b',{"id":', b"]]", b'] "x"', rb',"\x"]', b",\xff]", rb',"\ud8zz"]', rb",\ud83d]"]
)
def test_half_of_a_character_does_not_hide_that_an_answer_is_cut_or_wrong(kind: str, rest: bytes) -> None:
    body = wrapped(kind, b"[" + record_of(kind, 1, HALVES[0]) + rest)
    assert isinstance(failure(kind, http(body)), ProviderUnavailable)


@each_source
def test_an_answer_full_of_halves_is_refused(kind: str) -> None:
    body = wrapped(kind, b"[" + record_of(kind, 1, r"\ud83d" * 100_001) + b"]")
    assert isinstance(failure(kind, http(body)), ProviderUnavailable)


def test_pages_by_id_go_on_after_a_record_that_is_no_text() -> None:
    for name in (HALVES[0].encode(), b"\xff"):
        page = fetch("keyset", http(b'{"data":[{"id":7,"name":"%b","position":{"lat":1,"lon":1}}]}' % name))
        assert (page.cursor, [reject.external_id for reject in page.rejects]) == ("after:7", ["lights:7"])


@each_source
@pytest.mark.parametrize("answer", [dripping, silent])
def test_a_drip_is_cut_off(kind: str, answer: Told) -> None:
    assert isinstance(failure(kind, answer, 0.3), ProviderUnavailable)


async def dripping_headers(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X: y\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def endless_headers(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        writer.write(b"y" * 4096)
        await writer.drain()


async def endless_chunks(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"[" * 0x10000 + b"\r\n")
        await writer.drain()


async def endless_gzip(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    writer.write(block)
    again = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    while True:
        writer.write(again)
        await writer.drain()
        await asyncio.sleep(0)


async def empty_gzips(writer: Writer) -> None:
    nothing = gzip.compress(b"") * 1000
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
    while True:
        writer.write(nothing)
        await writer.drain()


@each_source
def test_an_answer_in_parts_without_an_end_is_refused(kind: str) -> None:
    assert "more than 1000 parts" in str(failure(kind, empty_gzips))


async def huge(writer: Writer) -> None:
    """Ten gigabytes are announced, and sent for as long as somebody reads them."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    while True:
        writer.write(b"[" * 65536)
        await writer.drain()


@each_source
@pytest.mark.parametrize("flood", [endless, endless_chunks, endless_gzip, huge])
def test_a_flood_is_refused_and_takes_no_more_memory_than_the_bound(kind: str, flood: Told) -> None:
    failure(kind, flood)  # imports and caches are not what is measured
    tracemalloc.start()
    try:
        error = failure(kind, flood)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(error, ProviderRejected)
    assert f"larger than {MOST} bytes" in str(error)
    # Growing a buffer takes a little more than what is in it.
    assert peak < 1.5 * MOST


@each_source
@pytest.mark.parametrize("flood", [endless_headers, dripping_headers])
def test_headers_without_an_end_are_cut_off(kind: str, flood: Told) -> None:
    assert isinstance(failure(kind, flood, 1.0), ProviderUnavailable)


REPEATING = {"Location": f"https://{KEY}.example/{KEY}?key={KEY}", "Link": f"<https://{KEY}/>; rel=next", "X-Key": KEY}


@each_source
@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 418, 429, 500, 503])
def test_a_key_that_is_sent_back_is_told_nowhere(kind: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    failure(kind, http({KEY: KEY}, status=status, headers=REPEATING))
    assert "hunter2" not in caplog.text


@each_source
@pytest.mark.parametrize(
    "answer",
    [
        f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode(),
        f"{KEY}\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\nContent-Length: {KEY}\r\n\r\n".encode(),
        http(b"[]", headers={"Content-Encoding": KEY}),
        http(KEY.encode(), headers={"Content-Encoding": "gzip"}),
    ],
)
def test_a_key_in_what_is_no_http_is_told_nowhere(kind: str, answer: bytes) -> None:
    failure(kind, answer)


def test_a_next_page_that_has_our_key_or_leads_elsewhere_is_not_followed() -> None:
    for link, kind in ((f"/next?k={KEY}", ProviderRejected), (f"https://elsewhere.example/{KEY}", OutsideScope)):
        body = {"data": [light(1)]}
        assert isinstance(failure("json-api", http(body, headers={"Link": f"<{link}>; rel=next"})), kind)


@each_source
def test_a_key_in_a_record_is_not_in_the_reason_why_it_is_set_aside(kind: str) -> None:
    record: dict[str, Any] = {"ID": KEY, "id": KEY, "AddressInfo": KEY, "position": {"lat": KEY, "lon": KEY}}
    page = fetch(kind, http(wrapped(kind, json.dumps([record]).encode())))
    assert "hunter2" not in page.rejects[0].reason


def test_a_country_that_is_our_key_is_not_repeated() -> None:
    where = {"Latitude": 1.0, "Longitude": 1.0, "Country": {"ISOCode": KEY}}
    assert isinstance(failure("ocm", http([{"ID": 1, "AddressInfo": where}])), OutsideScope)
