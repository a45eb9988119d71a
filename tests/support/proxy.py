"""A TCP proxy of ours that stands between a process and a server, and on command behaves like a bad network."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Literal, Self

_CHUNK = 1 << 16
_PATIENCE = 10.0

Way = Literal["requests", "replies"]
BOTH_WAYS: frozenset[Way] = frozenset({"requests", "replies"})


class _Connection:
    def __init__(self, client: asyncio.StreamWriter) -> None:
        self._writers = [client]
        # Once bytes were swallowed, what comes after them makes no sense to anybody.
        self.has_hole = False

    def joined(self, server: asyncio.StreamWriter) -> None:
        self._writers.append(server)

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


class Proxy:
    """Forwards to a server on this machine, in a thread with a loop of its own."""

    def __init__(self, server_port: int) -> None:
        self.port = 0
        # How many bytes never arrived; a test may wait for them.
        self.swallowed = 0
        self._server_port = server_port
        self._connections: set[_Connection] = set()
        self._drops: frozenset[Way] = frozenset()
        self._delay = 0.0
        self._refuses = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._listening: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_PATIENCE)
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        self._loop.close()

    def drop(self, ways: frozenset[Way] = BOTH_WAYS) -> None:
        """Swallow what is sent these ways; the connections stay open and silent."""
        self._do(lambda: setattr(self, "_drops", ways))

    def delay(self, seconds: float) -> None:
        """Keep everything back for so long, each way."""
        self._do(lambda: setattr(self, "_delay", seconds))

    def cut(self) -> None:
        """Break every connection there is; new ones are welcome."""
        self._do(self._cut_all)

    def refuse(self) -> None:
        """Break every connection there is, and each new one at once."""

        def refuse() -> None:
            self._refuses = True
            self._cut_all()

        self._do(refuse)

    def heal(self) -> None:
        """Forward everything again. Connections that lost bytes are cut: they could only talk nonsense."""

        def heal() -> None:
            self._drops, self._delay, self._refuses = frozenset(), 0.0, False
            for connection in list(self._connections):
                if connection.has_hole:
                    connection.cut()

        self._do(heal)

    def _do(self, command: Callable[[], None]) -> None:
        """On the proxy's own thread; returns once it is done."""

        async def run() -> None:
            command()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(_PATIENCE)

    def _cut_all(self) -> None:
        for connection in list(self._connections):
            connection.cut()

    async def _listen(self) -> None:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        assert self._listening
        self._listening.close()
        self._cut_all()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _serve(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        connection = _Connection(to_client)
        self._connections.add(connection)
        try:
            if self._refuses:
                return
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
            connection.joined(to_server)
            ways = {
                asyncio.create_task(self._forward(connection, "requests", from_client, to_server)),
                asyncio.create_task(self._forward(connection, "replies", from_server, to_client)),
            }
            _, other = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for task in other:
                task.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            pass
        finally:
            connection.cut()
            self._connections.discard(connection)

    async def _forward(
        self, connection: _Connection, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                if self._delay:
                    await asyncio.sleep(self._delay)
                if way in self._drops or connection.has_hole:
                    connection.has_hole = True
                    self.swallowed += len(data)
                    continue
                writer.write(data)
                await writer.drain()
