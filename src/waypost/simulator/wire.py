"""One request's connection: what goes over it is counted, and it can be broken."""

from typing import Any

from starlette.types import Message, Receive, Send


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
        """Close the connection amid an answer, after these last bytes."""
        # ASGI has no word for it, so this reaches for the transport behind the server's `send`.
        transport: Any = getattr(getattr(self._send, "__self__", None), "transport", None)
        if transport is None:
            raise ConnectionAbortedError("this connection cannot be cut, so it is given up")
        transport.write(first)
        transport.close()
        # The server takes an answer that is not finished for our mistake, unless it knows that nobody listens.
        while (await self._receive())["type"] != "http.disconnect":
            pass
