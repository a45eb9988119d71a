"""Listening sockets and the HTTP servers behind them."""

import asyncio
import errno
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from waypost.kernel.errors import AskedWrongly, TerminalError
from waypost.kernel.stopping import Stop
from waypost.web.app import App
from waypost.web.http.connection import Connection
from waypost.web.http.open_connections import ConnectionLimits, OpenConnections

OnUp = Callable[[str], None]

_TRIES = 100
_BACKLOG = 2048
_GRACE_SECONDS = 1
_TICKS = 10
# A thread that draws a QR code, or is busy otherwise, gives way this soon; Python's 5 ms are ten redirects.
_SWITCH_SECONDS = 0.0005


class PortTaken(TerminalError):
    """Another process listens there."""

    slug = "port-taken"


class CannotListen(AskedWrongly):
    """The address is not one of this machine's, or not allowed."""

    slug = "cannot-listen"


def listen(host: str, port: int, *, moves_on: bool) -> socket.socket:
    """A listening socket; with `moves_on`, on the next free port when this one is taken."""
    for candidate in range(port, min(port + _TRIES, 65536) if moves_on and port else port + 1):
        try:
            return _bind(host, candidate)
        except PortTaken:
            continue
    raise PortTaken(
        f"port {port} on {host} is in use",
        next_step="choose another one with --port, or leave --port out to take the next free one",
    )


def address(sock: socket.socket) -> str:
    """How to reach a listening socket from this machine."""
    host, port = sock.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}: {error.strerror}", parameter="host") from error
    try:
        # Only lets us back onto a port that a server of ours has just left; a port in use stays taken.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"port {port} on {host} is in use") from error
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}", parameter="host") from error
    sock.setblocking(False)  # noqa: FBT003 - the socket module's own signature
    return sock


class HttpServer(uvicorn.Server):
    """uvicorn on a socket of ours; signals are the role's business, not the server's."""

    def __init__(self, app: ASGIApp, limits: ConnectionLimits | None = None) -> None:
        hot, redirects = (app.hot, app.redirects) if isinstance(app, App) else (None, None)
        self._paths = [path for path in (hot, redirects) if path]
        self._open = OpenConnections(limits or ConnectionLimits(), rounds=_TICKS)
        connection = partial(Connection, others=self._open, hot=hot, redirects=redirects)
        super().__init__(
            uvicorn.Config(
                app,
                loop="none",
                http=cast("type[Connection]", connection),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: a tenth of the connections is looked at, and every tenth time answers are counted."""
        self._open.look(asyncio.get_running_loop().time())
        if counter % _TICKS == 0:
            for path in self._paths:
                path.settle()
        return await super().on_tick(counter)

    def stop(self) -> None:
        self.should_exit = True


async def serve(app: ASGIApp, sock: socket.socket) -> None:
    """Answer until cancelled; requests in flight get a moment to end."""
    await HttpServer(app).serve(sockets=[sock])


async def answer(
    app: ASGIApp, sock: socket.socket, stop: Stop, on_up: OnUp, limits: ConnectionLimits | None = None
) -> None:
    """Serve until asked to stop."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    server = HttpServer(app, limits)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    stopping = asyncio.create_task(stop.wait())
    on_up(address(sock))
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.stop()
    await serving
