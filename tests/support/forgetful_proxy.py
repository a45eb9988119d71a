"""A proxy in front of mongod that loses the reply to a command of your choice, once."""

import asyncio
from typing import Any
from urllib.parse import urlsplit


class ForgetfulProxy:
    """Between a client and mongod: it can be cut, and can lose the reply to a command after the server has acted."""

    def __init__(self, url: str) -> None:
        self._server = urlsplit(url)
        self._listening: asyncio.Server
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._command: bytes | None = None
        self._is_last = False
        self.lost = 0

    async def start(self) -> str:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._listening.sockets[0].getsockname()[1]
        # Otherwise the driver would ask the replica set where its members are, and go past the proxy.
        return f"mongodb://127.0.0.1:{port}{self._server.path}?directConnection=true"

    def lose_reply_to(self, command: str, *, for_good: bool = False) -> None:
        """`for_good` is for a network that does not come back afterwards."""
        self._command = command.encode() + b"\0"
        self._is_last = for_good

    async def cut(self) -> None:
        self._listening.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        assert self._server.hostname
        from_server, to_server = await asyncio.open_connection(self._server.hostname, self._server.port)
        self._writers |= {writer, to_server}
        losing = asyncio.Event()
        await asyncio.gather(
            self._forward(reader, to_server, losing, asked=True),
            self._forward(from_server, writer, losing, asked=False),
            return_exceptions=True,
        )

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, losing: asyncio.Event, *, asked: bool
    ) -> None:
        while data := await reader.read(1 << 20):
            if asked and self._command and self._command in data:
                self._command = None
                losing.set()
            if not asked and losing.is_set():
                self.lost += 1
                if self._is_last:
                    self._listening.close()
                break
            writer.write(data)
            await writer.drain()
        writer.transport.abort()
