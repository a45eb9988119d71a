"""Clients that send slowly, read slowly or not at all, on real sockets: none of them holds memory, or a connection."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from support.memory import MEGABYTE, anonymous_memory
from support.raw_client import Client
from support.snapshots import shelve, stations
from support.web_server import places_app, served
from waypost.web.http import client_deadlines
from waypost.web.http.open_connections import ConnectionLimits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("snapshots")
    shelve(made, stations(20_000))
    return made


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One that has little patience."""
    monkeypatch.setattr(client_deadlines, "_HEAD_SECONDS", 0.5)
    monkeypatch.setattr(client_deadlines, "_READ_SECONDS", 0.5)
    with served(places_app(folder, most=20_000)) as url:
        yield url


def connect(url: str, *, room: int | None = None) -> socket.socket:
    """`room` is how many bytes the kernel takes for a client that does not read."""
    where = urlsplit(url)
    sock = socket.socket()
    if room:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    sock.settimeout(30)
    sock.connect((where.hostname, where.port))
    return sock


def ended(sock: socket.socket) -> bool:
    """Reads until the other side has closed or cut the connection; a time-out fails the test."""
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        return True
    return True


def request(target: str, *more: str) -> bytes:
    return "\r\n".join([f"GET {target} HTTP/1.1", "Host: localhost", *more, "", ""]).encode()


@pytest.mark.parametrize("begun", [b"", b"GET /v1/pla", b"GET /v1/places HTTP/1.1\r\nHost: local"])
def test_a_request_whose_head_does_not_arrive_is_not_waited_for(server: str, begun: bytes) -> None:
    with connect(server) as sock:
        sock.sendall(begun)
        assert ended(sock)


def test_a_head_that_comes_in_drips_is_not_waited_for_either(server: str) -> None:
    with connect(server) as sock:
        sock.sendall(b"GET /v1/places HTTP/1.1\r\n")
        sock.settimeout(0.1)
        for _ in range(300):
            try:
                sock.sendall(b"X-Drip: 1\r\n")
                if not sock.recv(1):
                    return
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                return
    raise AssertionError("it was waited for")


@pytest.mark.parametrize("target", ["/v1/places/sim:1", "/livez"])
def test_a_connection_that_is_used_again_and_then_not_is_closed(folder: Path, target: str) -> None:
    with served(places_app(folder), ConnectionLimits(keep_alive=0.5)) as url, closing(Client(url)) as client:
        for _ in range(2):
            client.sock.sendall(request(target))
            assert client.read()[0].startswith(b"HTTP/1.1 200")
        assert ended(client.sock)


@pytest.mark.parametrize(
    "target", ["/v1/places?limit=700", "/v1/places?limit=20000", "/collections/places/items?limit=9000"]
)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_client_that_does_not_read_is_cut_off(server: str, target: str, encoding: str) -> None:
    with connect(server, room=4096) as sock:
        # More than fits into the buffers of both kernels, also when it is compressed.
        sock.sendall(request(target, f"Accept-Encoding: {encoding}") * 100)
        wait_for_the_cut(sock)
    assert httpx.get(f"{server}/livez").status_code == 200


def wait_for_the_cut(sock: socket.socket) -> None:
    """Without reading: whoever reads gives the server hope. Writing fails when the other side is gone."""
    give_up = time.monotonic() + 30
    sock.settimeout(0.1)
    while time.monotonic() < give_up:
        try:
            sock.sendall(b"G")
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            return
    raise AssertionError("it was not cut off")


def test_clients_that_do_not_read_hold_no_answers(folder: Path) -> None:
    """A hundred answers of 8 MB would be seen in the process's memory; slices of the map are not."""
    with served(places_app(folder, most=20_000)) as url:
        httpx.get(f"{url}/v1/places?limit=20000")
        before = anonymous_memory()
        socks = [connect(url, room=4096) for _ in range(100)]
        for sock in socks:
            sock.sendall(request("/v1/places?limit=20000"))
        # Answered after them, so that theirs have begun.
        assert httpx.get(f"{url}/livez").status_code == 200
        grown = anonymous_memory() - before
        for sock in socks:
            sock.close()
    assert grown < 200 * MEGABYTE


def test_a_slow_reader_gets_all_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_deadlines, "_READ_SECONDS", 5.0)
    with served(places_app(folder, most=20_000)) as url:
        whole = httpx.get(f"{url}/v1/places?limit=20000", headers={"Accept-Encoding": "identity"}).content
        with connect(url, room=4096) as sock:
            sock.sendall(request("/v1/places?limit=20000", "Connection: close"))
            got = bytearray()
            while part := sock.recv(300_000):
                got += part
    assert got.endswith(whole[-1000:])
    assert len(got) > len(whole)
