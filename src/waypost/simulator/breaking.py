"""What each fault does to an answer, and to the connection that it goes over."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PLAIN_FAULTS = {
    "429": PlainTextResponse("REQUEST FAILED: too many requests", 429, {"Retry-After": "1"}),
    "429-bare": PlainTextResponse("REQUEST FAILED: too many requests", 429),
    "500": PlainTextResponse("An error occurred while processing your request", 500),
    "503": PlainTextResponse("The service is unavailable", 503),
}
_SLOW_SECONDS = 2.0
_DRIPS = 10
_PAGE = b"<!doctype html><title>Maintenance</title><p>We will be back soon.</p>"


class Wire:
    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.status: int | None = None
        self.sent = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        self.sent += len(message.get("body", b""))
        await self._send(message)

    async def cut(self, first: bytes = b"") -> None:
        """Close the connection in the middle of an answer, after these last bytes."""
        # ASGI cannot express this, so it reaches for the transport behind the server's `send`.
        transport: Any = getattr(getattr(self._send, "__self__", None), "transport", None)
        if transport is None:
            raise ConnectionAbortedError("this connection cannot be cut, so it is given up")
        transport.write(first)
        transport.close()
        # The server takes an unfinished answer for our mistake, unless it knows that the client is gone.
        while (await self._receive())["type"] != "http.disconnect":
            pass


@dataclass
class WholeAnswer:
    """Collects the answer that the provider would have given."""

    start: Message = field(default_factory=dict)
    body: bytes = b""

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = message
        else:
            self.body += message.get("body", b"")


async def break_answer(fault: str, chance: float, app: ASGIApp, scope: Scope, receive: Receive, wire: Wire) -> None:
    """Answers with a fault. `chance`, from 0 to below 1, decides between the ways in which a fault can show itself."""
    if plain := _PLAIN_FAULTS.get(fault):
        await plain(scope, receive, wire.send)
        return
    if fault == "cut":
        await wire.cut(b"" if chance < 0.5 else b"HTTP/1.1 200 OK\r\nContent-Ty")  # noqa: PLR2004 - evenly
        return
    answer = WholeAnswer()
    await app(scope, receive, answer.take)
    match fault:
        case "slow":
            await _drip(answer, wire)
        case "half":
            await wire.send(answer.start)
            await wire.send(_body(answer.body[: len(answer.body) // 2], more=True))
            await wire.cut()
        case _:
            await _send_garbage(answer, wire, is_page=chance < 0.5)  # noqa: PLR2004 - evenly


async def _drip(answer: WholeAnswer, wire: Wire) -> None:
    await asyncio.sleep(_SLOW_SECONDS / 2)
    await wire.send(answer.start)
    size = len(answer.body) // _DRIPS + 1
    for begin in range(0, len(answer.body), size):
        await asyncio.sleep(_SLOW_SECONDS / 2 / _DRIPS)
        await wire.send(_body(answer.body[begin : begin + size], more=True))
    await wire.send(_body(b"", more=False))


async def _send_garbage(answer: WholeAnswer, wire: Wire, *, is_page: bool) -> None:
    """Sends as many bytes as the headers promise, but none that mean anything."""
    content = _PAGE if is_page else answer.body[: len(answer.body) // 2]
    kept = [(name, value) for name, value in answer.start["headers"] if name != b"content-length"]
    await wire.send({**answer.start, "headers": [*kept, (b"content-length", b"%d" % len(content))]})
    await wire.send(_body(content, more=False))


def _body(content: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": content, "more_body": more}
