"""An app on a real socket, in a thread of its own, as `waypost serve` runs it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop
from starlette.types import ASGIApp

from waypost.roles.kit.http_server import HttpServer, address, listen
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.web.app import App, Places, make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust
from waypost.web.http.open_connections import ConnectionLimits

_PATIENCE = 30.0


def places_app(folder: Path, *, most: int = 10_000, public_url: str = "", cors: tuple[str, ...] = ()) -> App:
    """Places from the current generation of a folder, opened now and not looked for again."""
    live = LiveGeneration(Shelf(folder))
    live.refresh()
    places = Places(live, most, public_url=public_url, cors=cors)
    return make_app(probes={}, guard=WriteGuard(LocalTrust.on("127.0.0.1")), places=places)


@contextmanager
def served(app: ASGIApp, limits: ConnectionLimits | None = None) -> Iterator[str]:
    """The address at which the app answers."""
    with listen("127.0.0.1", 0, moves_on=False) as sock:
        server = HttpServer(app, limits)
        thread = threading.Thread(target=_run, args=(server, sock))
        thread.start()
        try:
            yield address(sock)
        finally:
            server.stop()
            thread.join(_PATIENCE)
            assert not thread.is_alive()


def _run(server: HttpServer, sock: socket.socket) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server.serve(sockets=[sock]))
