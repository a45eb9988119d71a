"""One request's connection: counts what goes over it, and can break it."""

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
