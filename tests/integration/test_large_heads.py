"""Requests with very large headers, on real sockets: they are answered and cut off, and never kept in memory whole."""

import socket
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import msgspec
import pytest

from support.raw_client import Client
from support.web_server import served
from waypost.web.app import make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust
from waypost.web.http.refusals import MOST_HEAD

MEGABYTE = 2**20
# What stands in a head beside the one header that a test is about.
USUAL = len("HostlocalhostX-Long")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with served(make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")))) as url:
        yield url


def head(*lines: bytes) -> bytes:
    return b"\r\n".join([b"GET /livez HTTP/1.1", b"Host: localhost", *lines, b"", b""])


def send_until_cut_off(server: str, begin: bytes, piece: bytes, most: int) -> tuple[int, bytes]:
    """How many bytes went out before the server closed, and what it said."""
    where = urlsplit(server)
    with socket.create_connection((where.hostname, where.port), timeout=30) as sock:
        sent = 0
        try:
            sock.sendall(begin)
            while sent < most:
                sent += sock.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = b""
        try:
            while part := sock.recv(65536):
                answer += part
        except ConnectionResetError:
            pass
        return sent, answer


@pytest.mark.parametrize(("more", "status"), [(0, b"200"), (1, b"431")])
def test_headers_have_so_many_bytes_together_and_no_more(server: str, more: int, status: bytes) -> None:
    with closing(Client(server)) as client:
        answered, body = client.ask(head(b"X-Long: " + b"x" * (MOST_HEAD - USUAL + more)))
    assert answered.startswith(b"HTTP/1.1 " + status)
    if more:
        assert b"content-type: application/problem+json" in answered
        assert b"connection: close" in answered
        assert msgspec.json.decode(body)["type"] == "urn:waypost:headers-too-large"


def test_many_small_headers_count_together(server: str) -> None:
    with closing(Client(server)) as client:
        answered, _ = client.ask(head(*[b"X-Small: 1234567"] * 5000))
    assert answered.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"GET /livez HTTP/1.1\r\nX-Long: ", b"x" * MEGABYTE),
        (b"GET /livez HTTP/1.1\r\n", b"X-Small: 1\r\n" * 10_000),
        (b"GET /", b"x" * MEGABYTE),
        (b"POST /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Long: ", b"x" * MEGABYTE),
    ],
    ids=["one header", "many headers", "address", "trailer"],
)
def test_what_never_ends_is_cut_off(server: str, begin: bytes, piece: bytes) -> None:
    sent, answer = send_until_cut_off(server, begin, piece, 100 * MEGABYTE)
    # What the kernel takes on both sides goes out as well.
    assert sent < 30 * MEGABYTE
    assert b"200 OK" not in answer


def test_a_header_of_20_megabytes_is_refused(server: str) -> None:
    _, answer = send_until_cut_off(server, b"GET /livez HTTP/1.1\r\nX-Long: ", b"x" * MEGABYTE, 20 * MEGABYTE)
    assert answer.startswith(b"HTTP/1.1 431 ")


def test_many_requests_in_one_piece_are_all_answered(server: str) -> None:
    """Together they have more than the headers of one may have."""
    count = 4 * MOST_HEAD // len(head())
    with closing(Client(server)) as client:
        client.sock.sendall(head() * count)
        assert all(client.read()[0].startswith(b"HTTP/1.1 200") for _ in range(count))


def test_a_large_body_is_none_of_this(server: str) -> None:
    size = 10 * MOST_HEAD
    request = b"POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size
    with closing(Client(server)) as client:
        answered, _ = client.ask(request + b"x" * size)
    assert answered.startswith(b"HTTP/1.1 413 ")
