"""A server of places and links on real sockets, with its hot paths and without them, asked in bytes as they are.

Each piece of a request is sent once the server has read the one before, so that it sees exactly these pieces.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from support.link_service import Service, link_service
from waypost.places.place import Place
from waypost.roles.kit.http_server import HttpServer, listen
from waypost.web.follow.hot_path import RedirectPath
from waypost.web.http.connection import Connection
from waypost.web.places.hot_path import HotPath

# Whatever was asked before, the server closes the connection after this: it is answered, or it is the end of nonsense.
_LAST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" * 2
_DATE = re.compile(rb"\r\ndate: [^\r]*")
_PATIENCE = 30.0


class BothPaths:
    def __init__(self, service: Service, hot: int, plain: int) -> None:
        self.service, self.hot, self.plain = service, hot, plain
        # How many requests the hot paths answered themselves.
        self.taken = 0
        self._read: Counter[int] = Counter()
        self._gone: set[int] = set()
        self._news = asyncio.Event()

    async def ask(self, port: int, *pieces: bytes) -> bytes:
        """All that the server says to a client that sends these pieces and a last request, without the dates."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_PATIENCE):
            transport, client = await loop.create_connection(_Client, "127.0.0.1", port)
            own = transport.get_extra_info("sockname")[1]
            sent = 0
            try:
                for piece in (*pieces, _LAST):
                    # Writing to a server that has gone could cost what it said before.
                    if own not in self._gone:
                        transport.write(piece)
                        sent += len(piece)
                        await self._until_read(own, sent)
                await client.closed
            finally:
                transport.close()
                self._read.pop(own, None)
                self._gone.discard(own)
        return _DATE.sub(b"", bytes(client.received))

    async def answer(self, port: int, request: bytes) -> bytes:
        """The answer to one request that is whole, without that to the last one."""
        last = await self._last_answer()
        return (await self.ask(port, request)).removesuffix(last)

    async def _last_answer(self) -> bytes:
        if not hasattr(self, "_known_last"):
            self._known_last = await self.ask(self.plain)
        return self._known_last

    async def _until_read(self, port: int, size: int) -> None:
        while self._read[port] < size and port not in self._gone:
            self._news.clear()
            await self._news.wait()

    def watch(self, patched: pytest.MonkeyPatch) -> None:
        """Learns from the server's own connections what they have read, and from its hot paths what they answered."""
        received, lost = Connection.data_received, Connection.connection_lost

        def data_received(connection: Connection, data: bytes) -> None:
            port = connection.transport.get_extra_info("peername")[1]
            received(connection, data)
            self._read[port] += len(data)
            if connection.transport.is_closing():
                self._gone.add(port)
            self._news.set()

        def connection_lost(connection: Connection, error: Exception | None) -> None:
            self._gone.add(connection.transport.get_extra_info("peername")[1])
            self._news.set()
            lost(connection, error)

        patched.setattr(Connection, "data_received", data_received)
        patched.setattr(Connection, "connection_lost", connection_lost)
        for path in (RedirectPath, HotPath):
            patched.setattr(path, "answer", self._counting(path.answer))

    def _counting(self, answer: Any) -> Any:
        def counted(*asked: Any) -> Any:
            written = answer(*asked)
            self.taken += written is not None
            return written

        return counted


class _Client(asyncio.Protocol):
    def __init__(self) -> None:
        self.received = bytearray()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


@asynccontextmanager
async def both_paths(
    folder: Path, flags: dict[str, str] | None = None, *, places: int | Sequence[Place] = 30
) -> AsyncIterator[BothPaths]:
    async with link_service(folder, flags, places=places) as service:
        plain = copy(service.app)
        plain.hot = plain.redirects = None
        with listen("127.0.0.1", 0, moves_on=False) as one, listen("127.0.0.1", 0, moves_on=False) as other:
            both = BothPaths(service, one.getsockname()[1], other.getsockname()[1])
            servers = [(HttpServer(service.app), one), (HttpServer(plain), other)]
            serving = [asyncio.create_task(server.serve(sockets=[sock])) for server, sock in servers]
            with pytest.MonkeyPatch.context() as patched:
                both.watch(patched)
                try:
                    yield both
                finally:
                    for server, _ in servers:
                        server.stop()
                    await asyncio.gather(*serving)
