"""One connection: uvicorn's own, with time-outs for clients that send or read too slowly, and hot paths in front."""

import asyncio
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from waypost.web.follow.hot_path import RedirectPath
from waypost.web.http.encoded_headers import new_head
from waypost.web.http.hot_path_defects import HotPathDefects
from waypost.web.http.problems import problem_document
from waypost.web.places.hot_path import HotPath

# All headers of a request together; hot paths answer only far smaller ones.
MOST_HEAD = 64 * 1024
# From the first byte of a request to the end of its headers; also how long a new connection may take to begin.
_HEAD_SECONDS = 10.0
# How long a client may read nothing while we have something for it.
_READ_SECONDS = 30.0
_HALF_READ = ("head", "end")


class Connection(HttpToolsProtocol):
    """A request that a hot path answers never becomes a task; every other one takes uvicorn's way.

    It relies on names of uvicorn that are not public, which is why the release is pinned.
    """

    defects = HotPathDefects()

    def __init__(
        self, *given: Any, hot: HotPath | None = None, redirects: RedirectPath | None = None, **more: Any
    ) -> None:
        super().__init__(*given, **more)
        self._hot, self._redirects = hot, redirects
        self._peer = ""
        self._running: RequestResponseCycle | None = None
        # What it waits for: a first request, another one, the rest of one; None while one is answered.
        self._awaits: Literal["first", "request", "head", "end"] | None = "first"
        # Grows with each request, so that `look` can tell whether something happened.
        self._requests = 0
        self._seen: tuple[int, str | None] = (0, self._awaits)
        # Bytes that the parser was given since it last reported something other than a header.
        self._kept = 0
        self._is_too_large = False
        self._unread = 0
        self._since = self._unread_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""

    def connection_lost(self, exc: Exception | None) -> None:
        # uvicorn tells only the last request; an earlier one that still runs would go on writing to nobody.
        if self._running is not None:
            self._running.disconnected = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # A hot path may answer if a request begins here, no earlier answer is under way and the client keeps reading.
        # (When the last request that took uvicorn's way has its answer, all before it have theirs.)
        last: RequestResponseCycle | None = self.cycle
        if (
            self._awaits in _HALF_READ
            or (last is not None and not last.response_complete)
            or self.flow.write_paused
            or self.transport.is_closing()
            or (self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency)
            or not self._answer_now(data)
        ):
            self._kept += len(data)
            super().data_received(data)
            if self._kept > MOST_HEAD and self._awaits in _HALF_READ:
                self._refuse_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._kept = 0
        self._awaits = "head"
        self._requests += 1

    def on_headers_complete(self) -> None:
        self._awaits = "end"
        self._kept = 0
        if sum(len(name) + len(value) for name, value in self.headers) > MOST_HEAD:
            self._is_too_large = True
            # This stops the parser, and uvicorn calls `send_400_response`.
            raise ValueError("the headers are too large")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._kept = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._awaits = None
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if self._is_too_large:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _unsupported_upgrade_warning(self) -> None:
        """Says nothing: a client that asks for another protocol is answered in this one, and must not fill our logs."""

    def _refuse_head(self) -> None:
        # Nothing may be written inside another answer: a client that waits for one learns it from the close.
        last: RequestResponseCycle | None = self.cycle
        if last is None or last.response_complete:
            self.transport.write(self._head_too_large())
        self.transport.close()

    def _head_too_large(self) -> bytes:
        detail = f"the headers of a request have at most {MOST_HEAD} bytes together; send fewer, or shorter ones"
        body = problem_document(431, "headers-too-large", detail)
        head = new_head(
            *self.server_state.default_headers,
            (b"content-type", b"application/problem+json"),
            (b"cache-control", b"no-store"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        )
        return STATUS_LINE[431] + head.written + b"\r\n" + body

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _answer_now(self, data: bytes) -> bool:
        default = self.server_state.default_headers
        try:
            written = self._hot.answer(data, self.scheme or "http", default) if self._hot else None
            if written is None and self._redirects:
                written = self._redirects.answer(data, self._peer, default)
        except Exception as defect:  # noqa: BLE001 - the long way may know better
            self.defects.note(defect)
            return False
        if written is None:
            return False
        if len(written) == 1:
            self.transport.write(written[0])
        else:
            self.transport.writelines(written)
        if self.timeout_keep_alive_task is not None:
            self._unset_keepalive_if_required()
        self._awaits = "request"
        self._requests += 1
        self.server_state.total_requests += 1
        return True

    def look(self, now: float) -> None:
        """Called about once a second: closes the connection if it has waited for its client for too long."""
        seen = (self._requests, self._awaits)
        if seen != self._seen:
            self._seen, self._since = seen, now
        patience = {"request": self.timeout_keep_alive, "first": _HEAD_SECONDS, "head": _HEAD_SECONDS}
        if self._awaits in patience and now - self._since > patience[self._awaits]:
            self.transport.close()
        unread = self.transport.get_write_buffer_size()
        if not unread or unread != self._unread:
            self._unread, self._unread_since = unread, now
        elif now - self._unread_since > _READ_SECONDS:
            self.transport.abort()
