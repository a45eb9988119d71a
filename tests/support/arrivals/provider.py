"""The provider: an HTTP server in a process of its own that notes each request, and refuses when it is told to.

It is asked for `/WORKER/GRANTED`, and obeys its standard input, a command a line:

- `hold` keeps everybody waiting for an answer from now on
- `refuse VALUE` answers 429 with this Retry-After, at once to all who wait, and from now on; `allow` answers 200 again
- `wait COUNT` says the count of requests as soon as there are so many
- `notes` says everything it noted, as JSON

What has no other answer is answered with the time.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_REFUSAL = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: %b\r\nContent-Length: 0\r\n\r\n"
_END = b"\r\n\r\n"


class Notebook:
    def __init__(self) -> None:
        self._notes: list[tuple[str, int, int]] = []
        self._answer: bytes | None = _OK
        self._held: list[asyncio.WriteTransport] = []
        self._awaited: int | None = None

    def note(self, worker: str, granted: int, asker: asyncio.WriteTransport) -> None:
        self._notes.append((worker, granted, time.monotonic_ns()))
        self._held.append(asker)
        self._release()
        self._tell()

    def obey(self, line: str) -> None:
        match line.split(maxsplit=1):
            case ["hold"]:
                self._change(None)
            case ["refuse", value]:
                self._change(_REFUSAL % value.encode())
            case ["allow"]:
                self._change(_OK)
            case ["wait", count]:
                self._awaited = int(count)
                self._tell()
            case ["notes"]:
                _say(json.dumps(self._notes))

    def _change(self, answer: bytes | None) -> None:
        now, self._answer = time.monotonic_ns(), answer
        self._release()
        _say(str(now))

    def _release(self) -> None:
        if self._answer is not None:
            for asker in self._held:
                asker.write(self._answer)
            self._held.clear()

    def _tell(self) -> None:
        if self._awaited is not None and len(self._notes) >= self._awaited:
            self._awaited = None
            _say(str(len(self._notes)))


class Conversation(asyncio.Protocol):
    """With one worker, who keeps its connection and sends its next request after the answer."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._unread = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert self._transport
        *requests, self._unread = (self._unread + data).split(_END)
        for request in requests:
            _, worker, granted = request.split(b" ", 2)[1].decode().split("/")
            self._notebook.note(worker, int(granted), self._transport)


def _say(text: str) -> None:
    """All of it, however long: a pipe takes little at a time."""
    unsaid = memoryview(f"{text}\n".encode())
    while unsaid:
        unsaid = unsaid[os.write(1, unsaid) :]


class _Commands(asyncio.Protocol):
    def __init__(self, obey: Callable[[str], None], ended: asyncio.Event) -> None:
        self._obey = obey
        self._ended = ended
        self._unread = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._obey(line.decode())

    def connection_lost(self, _error: Exception | None) -> None:
        self._ended.set()


async def serve() -> None:
    loop, notebook, ended = asyncio.get_running_loop(), Notebook(), asyncio.Event()
    server = await loop.create_server(lambda: Conversation(notebook), "127.0.0.1", 0)
    async with server:
        await loop.connect_read_pipe(lambda: _Commands(notebook.obey, ended), sys.stdin)
        _say(str(server.sockets[0].getsockname()[1]))
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve())
