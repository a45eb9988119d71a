"""Clients: connections that follow one link after the other, and know of each request what became of it."""

import asyncio
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from drills.visits.book import Book, Question, Questions
from drills.visits.servers import Fleet, Server, Slot

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_AGAIN_SECONDS = 0.02
_TURN_SECONDS = 0.005


class Pace:
    """No more requests than the rate allows since it began, so that there is time for enough mishaps."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._began = time.monotonic()
        self._taken = 0

    def take(self) -> bool:
        if self._taken > self._rate * (time.monotonic() - self._began):
            return False
        self._taken += 1
        return True


@dataclass(frozen=True)
class Client:
    book: Book
    questions: Questions
    pace: Pace

    async def ask(self, fleet: Fleet, connections: int) -> None:
        """Until all that was wanted is answered."""
        await asyncio.gather(*(self._ask(slot) for slot in fleet.slots for _ in range(connections)))

    async def _ask(self, slot: Slot) -> None:
        loop = asyncio.get_running_loop()
        while not self.book.is_full:
            server = slot.server
            if server.is_up and self.book.has_more:
                with suppress(OSError):
                    make = partial(_Connection, self, server)
                    _, connection = await loop.create_connection(make, "127.0.0.1", slot.port)
                    await connection.closed
            await asyncio.sleep(_AGAIN_SECONDS)


class _Connection(asyncio.Protocol):
    def __init__(self, client: Client, server: Server) -> None:
        self._client, self._book, self._server = client, client.book, server
        self._transport: asyncio.Transport | None = None
        self._asked: Question | None = None
        self._received = b""
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        # What is sent to the dead was not in flight when they died.
        if self._server.is_killed or not self._book.has_more:
            self._transport.close()
        elif not self._client.pace.take():
            asyncio.get_running_loop().call_later(_TURN_SECONDS, self._ask)
        else:
            self._asked = self._client.questions.next()
            self._book.ask()
            self._transport.write(self._asked.request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(_END)
        if end < 0:
            return
        head = self._received[: end + 2]
        length = _LENGTH.search(head)
        if len(self._received) < end + len(_END) + (int(length[1]) if length else 0):
            return
        self._received = b""
        self._write_down(head)
        self._ask()

    def _write_down(self, head: bytes) -> None:
        assert self._asked
        link, self._asked = self._asked.link, None
        if head.startswith(b"HTTP/1.1 302 ") and f"\r\nlocation: {link.target}\r\n".encode() in head.lower():
            self._book.answer(link)
        else:
            self._book.refuse(f"{self._server.name} answered {head[:300]!r} for {link.phrase}")

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._asked:
            link, self._asked = self._asked.link, None
            self._book.break_off(link)
            if not self._server.is_killed:
                self._book.wrong.append(f"{self._server.name} left {link.phrase} without an answer: {error}")
        if not self.closed.done():
            self.closed.set_result(None)
