"""Many connections at once: what is idle makes room, and nobody who asks for something is turned away for it."""

import threading
from contextlib import ExitStack, closing
from pathlib import Path

import anyio.to_thread
import pytest
from starlette.types import Receive, Scope, Send

from support.processes import eventually
from support.raw_client import Client
from support.snapshots import shelve, stations
from support.web_server import places_app, served
from waypost.telemetry.metrics import HTTP_CONNECTIONS
from waypost.web.http.open_connections import ConnectionLimits

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
PLACE = b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\n\r\n"
ROUTE = b"GET /conformance HTTP/1.1\r\nHost: a\r\n\r\n"
NO_BODY_COMES = b"POST /conformance HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("snapshots")
    shelve(made, stations(3))
    return made


def asked_on_the_same_connection(client: Client, request: bytes) -> tuple[bytes, bytes]:
    """Unlike `ask`, which connects again where the server has closed the connection."""
    client.sock.sendall(request)
    return client.read()


def test_more_than_a_thousand_idle_connections_harm_nobody(folder: Path) -> None:
    with served(places_app(folder)) as url, ExitStack() as stack:
        established = stack.enter_context(closing(Client(url)))
        before = [established.ask(PLACE), established.ask(LIVEZ)]
        for _ in range(1100):
            stack.enter_context(closing(Client(url))).ask(LIVEZ)
        new = stack.enter_context(closing(Client(url)))
        assert [new.ask(PLACE), new.ask(LIVEZ)] == before
        assert [asked_on_the_same_connection(established, request) for request in (PLACE, LIVEZ)] == before


@pytest.mark.parametrize("request_bytes", [b"", b"\r\n", LIVEZ, PLACE, b"GET /livez HT"])
def test_who_is_served_stays_connected_however_many_come(folder: Path, request_bytes: bytes) -> None:
    with served(places_app(folder), ConnectionLimits(most=20)) as url, ExitStack() as stack:
        before = HTTP_CONNECTIONS._value.get()
        established = stack.enter_context(closing(Client(url)))
        for _ in range(100):
            assert asked_on_the_same_connection(established, PLACE)[0].startswith(b"HTTP/1.1 200")
            stack.enter_context(closing(Client(url))).sock.sendall(request_bytes)
        eventually(lambda: HTTP_CONNECTIONS._value.get() <= before + 20, "there are no more than may be")
        assert asked_on_the_same_connection(established, LIVEZ)[0].startswith(b"HTTP/1.1 200")


def test_requests_whose_bodies_do_not_come_make_room_for_others(folder: Path) -> None:
    with served(places_app(folder), ConnectionLimits(requests=5)) as url, ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(closing(Client(url))).sock.sendall(NO_BODY_COMES)
        client = stack.enter_context(closing(Client(url)))
        for request in (ROUTE, LIVEZ, PLACE):
            assert client.ask(request)[0].startswith(b"HTTP/1.1 200")


def test_past_the_bound_of_requests_others_are_refused_and_probes_are_not() -> None:
    released = threading.Event()

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["path"] != "/livez":
            await anyio.to_thread.run_sync(released.wait, 30)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    with served(app, ConnectionLimits(requests=3, most=4)) as url, ExitStack() as stack:
        working = [stack.enter_context(closing(Client(url))) for _ in range(3)]
        for client in working:
            client.sock.sendall(ROUTE)
        client = stack.enter_context(closing(Client(url)))
        assert client.ask(LIVEZ)[0].startswith(b"HTTP/1.1 200")
        head, body = client.ask(ROUTE)
        assert head.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in head
        assert b"x-content-type-options: nosniff" in head
        assert b"urn:waypost:overloaded" in body
        assert asked_on_the_same_connection(client, LIVEZ)[0].startswith(b"HTTP/1.1 200")
        released.set()
        assert [client.read()[0][:12] for client in working] == [b"HTTP/1.1 200"] * 3
