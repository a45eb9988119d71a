"""Requests sent behind each other without waiting: all are answered in order, and few of them are held at a time."""

import threading
from contextlib import ExitStack, closing
from pathlib import Path

import anyio.to_thread
from starlette.types import Receive, Scope, Send

from support.memory import MEGABYTE, anonymous_memory
from support.raw_client import Client
from support.snapshots import shelve, stations
from support.web_server import places_app, served

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
PLACE = b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\n\r\n"
UPGRADE = b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
LARGE = b"POST /v1/places HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n" + b"x" * 60_000


def test_thousands_behind_each_other_are_answered_in_their_order(tmp_path: Path) -> None:
    shelve(tmp_path, stations(3))
    with served(places_app(tmp_path)) as url, closing(Client(url)) as client:
        requests = [LIVEZ, PLACE, UPGRADE, PLACE, LARGE] * 20 + [LIVEZ, PLACE] * 1500
        expected = {request: client.ask(request) for request in set(requests)}
        sending = threading.Thread(target=client.sock.sendall, args=(b"".join(requests),))
        sending.start()
        for request in requests:
            assert client.read() == expected[request]
        sending.join()


def test_a_client_that_sends_thousands_at_once_takes_no_memory_for_them() -> None:
    """A hundred thousand requests that wait would be seen in the process's memory."""
    released = threading.Event()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await anyio.to_thread.run_sync(released.wait, 30)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    with served(app) as url, ExitStack() as stack:
        clients = [stack.enter_context(closing(Client(url))) for _ in range(10)]
        before = anonymous_memory()
        for client in clients:
            client.sock.settimeout(0)
            client.sock.send(b"GET / HTTP/1.1\r\n\r\n" * 14_000)
        released.set()
        for client in clients:
            client.sock.settimeout(30)
            assert client.read()[0].startswith(b"HTTP/1.1 200")
        assert anonymous_memory() - before < 20 * MEGABYTE
