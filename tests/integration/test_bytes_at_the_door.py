"""What is answered before any route sees a request: bytes that are not HTTP, heads that are too large, upgrades."""

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.raw_client import Client
from support.snapshots import shelve, stations
from support.web_server import places_app, served

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
PLACE = b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\n\r\n"
UPGRADE = b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("snapshots")
    shelve(folder, stations(3))
    with served(places_app(folder)) as url:
        yield url


@pytest.mark.parametrize(
    ("request_bytes", "status", "slug"),
    [
        (b"nonsense\r\n\r\n", b"400", b"not-http"),
        (b"nonsense " * 1000, b"400", b"not-http"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400", b"not-http"),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 65536 + b"\r\n\r\n", b"431", b"headers-too-large"),
    ],
)
def test_what_cannot_be_a_request_is_answered_as_every_problem_is(
    server: str, request_bytes: bytes, status: bytes, slug: bytes
) -> None:
    with closing(Client(server)) as client:
        head, body = client.ask(request_bytes)
    assert head.startswith(b"HTTP/1.1 " + status)
    for header in (b"x-content-type-options: nosniff", b"application/problem+json", b"connection: close"):
        assert header in head
    assert b"urn:waypost:" + slug in body


@pytest.mark.parametrize("after", [LIVEZ, PLACE, UPGRADE, LIVEZ * 3 + PLACE])
def test_requests_behind_one_that_asks_for_another_protocol_are_answered(server: str, after: bytes) -> None:
    with closing(Client(server)) as client:
        expected = [client.ask(LIVEZ)]
        expected += [client.ask(request + b"\r\n\r\n") for request in after.split(b"\r\n\r\n") if request]
        client.sock.sendall(UPGRADE + after)
        assert [client.read() for _ in expected] == expected


def test_a_body_behind_an_upgrade_is_not_taken_for_a_request(server: str) -> None:
    body = b"GET /nowhere HTTP/1.1\r\n\r\n"
    with_body = UPGRADE.replace(b"\r\n\r\n", b"\r\nContent-Length: %d\r\n\r\n" % len(body)) + body
    with closing(Client(server)) as client:
        livez = client.ask(LIVEZ)
        client.sock.sendall(with_body + LIVEZ)
        assert [client.read(), client.read()] == [livez, livez]


def test_bytes_that_are_not_http_do_not_fill_the_log(server: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), closing(Client(server)) as client:
        for _ in range(20):
            client.ask(b"nonsense\r\n\r\n")
    assert caplog.records == []
