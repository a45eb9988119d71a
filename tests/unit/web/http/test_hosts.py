"""The Host of a request, which answers repeat: one that is no host is refused, on the hot paths and behind them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Message

from support.asking import assert_problem, send_raw
from support.link_service import Service, link_service
from support.raw_client import Client
from support.web_server import served

pytestmark = pytest.mark.anyio

BAD = ["a,b", "..", "a..b", "%0d%0a", "a/b", "a b", "a@b", 'x"y', "<script>", "a:b", "[::1", "a" * 64, "a." * 1500]


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path, places=3) as opened:
        await opened.make(phrase="golden-otter")
        yield opened


@pytest.mark.parametrize("host", BAD)
async def test_what_is_no_host_is_never_repeated(links: Service, host: str) -> None:
    asked = [
        *(("GET", "/v1/links"), ("GET", "/v1/places"), ("GET", "/collections/places"), ("GET", "/golden-otter")),
        *(("GET", "/golden-otter+"), ("GET", "/golden-otter.svg"), ("GET", "/openapi.json"), ("GET", "/nothing/here")),
    ]
    for method, path in asked:
        answer = await links.ask(method, path, headers={"Host": host})
        document = assert_problem(answer, 400, "bad-host")
        assert (document["parameter"], host in answer.text) == ("Host", False), path


@pytest.mark.parametrize("length", [2900, 3000])
async def test_no_host_is_long_enough_to_make_a_qr_code_costly(links: Service, length: int) -> None:
    answer = await links.get("/golden-otter.svg", headers={"Host": f"{'a' * 50}." * (length // 51)})
    assert_problem(answer, 400, "bad-host")


async def test_the_longest_host_has_a_qr_code(links: Service) -> None:
    host = ".".join(["a" * 63] * 3 + ["a" * 61])
    answer = await links.get("/golden-otter.svg", headers={"Host": f"{host}:65535"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")


async def test_two_hosts_in_one_request_are_refused(links: Service) -> None:
    sent: list[Message] = []
    hosts = [(b"host", b"one.example"), (b"host", b"two.example")]
    await send_raw(links.app, "GET", "/v1/languages", headers=hosts, sent=sent)
    assert sent[0]["status"] == 400


async def test_a_request_without_a_host_is_answered(links: Service) -> None:
    for headers in ([(b"host", b"")], [(b"accept", b"*/*"), (b"host", b"")]):
        sent: list[Message] = []
        await send_raw(links.app, "GET", "/v1/places", headers=headers, sent=sent)
        assert sent[0]["status"] == 200


async def test_hot_paths_and_the_others_refuse_alike(links: Service) -> None:
    await links.get("/golden-otter")
    with served(links.app) as url:
        client = Client(url)
        for path in ("/golden-otter", "/v1/places/sim:1", "/v1/places"):
            for head in ("Host: a,b", "Host: one.example\r\nHost: two.example"):
                for more in ("", "Connection: close\r\n"):
                    request = f"GET {path} HTTP/1.1\r\n{head}\r\n{more}\r\n".encode()
                    answered, _ = await asyncio.to_thread(client.ask, request)
                    assert answered.startswith(b"HTTP/1.1 400"), request
