"""A little provider on loopback that answers as it is told, and remembers what it was asked."""

import asyncio
import inspect
import json
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

Writer = asyncio.StreamWriter
Told = bytes | Callable[[Writer], Awaitable[None]] | Callable[[str], bytes]


@dataclass
class Provider:
    """What it was asked, over how many connections, and where it is."""

    url: str = ""
    requests: list[str] = field(default_factory=list)
    connections: int = 0

    def addresses(self) -> list[str]:
        return [request.split(" ")[1] for request in self.requests]

    def asked(self) -> list[dict[str, str]]:
        queries = [parse_qs(urlsplit(address).query) for address in self.addresses()]
        return [{name: values[0] for name, values in query.items()} for query in queries]

    def header(self, name: str) -> list[str | None]:
        return [_header(request, name) for request in self.requests]


@asynccontextmanager
async def provider(*answers: Told) -> AsyncIterator[Provider]:
    """Gives its answers in their order; whoever asks more often gets the last one again.

    An answer is bytes, a function from the request's text to bytes, or a coroutine that writes as it likes.
    """
    told = Provider()
    writers: list[Writer] = []

    async def on_connection(reader: asyncio.StreamReader, writer: Writer) -> None:
        told.connections += 1
        writers.append(writer)
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).decode()
                told.requests.append(request)
                answer = answers[min(len(told.requests), len(answers)) - 1]
                if not await _give(answer, request, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    async with server:
        told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield told
        finally:
            # From Python 3.12 on, a server ends only when all its connections have ended.
            for writer in writers:
                writer.transport.abort()


async def _give(answer: Told, request: str, writer: Writer) -> bool:
    """Whether the connection stays open."""
    if inspect.iscoroutinefunction(answer):
        await answer(writer)
        return False
    given = answer if isinstance(answer, bytes) else answer(request)  # type: ignore[arg-type] # told apart above
    assert isinstance(given, bytes)
    writer.write(given)
    await writer.drain()
    return b"Connection: close" not in given.partition(b"\r\n\r\n")[0]


def http(
    body: object = None, *, status: int = 200, headers: dict[str, str] | None = None, keep_alive: bool = False
) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Told", f"Content-Length: {len(content)}"]
    lines += [] if keep_alive else ["Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def endless(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[")
    while True:
        writer.write(b" " * 4096)
        await writer.drain()


async def dripping(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def silent(writer: Writer) -> None:
    await asyncio.wait_for(writer.wait_closed(), 30)


def _header(request: str, name: str) -> str | None:
    for line in request.splitlines()[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name.lower():
            return value.strip()
    return None


@contextmanager
def serving(*answers: Told) -> Iterator[Provider]:
    """The same in a thread of its own, for tests that start processes."""
    started: queue.Queue[tuple[asyncio.AbstractEventLoop, asyncio.Event, Provider]] = queue.Queue()

    async def main() -> None:
        async with provider(*answers) as told:
            over = asyncio.Event()
            started.put((asyncio.get_running_loop(), over, told))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    loop, over, told = started.get(timeout=30)
    try:
        yield told
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(timeout=30)
