"""One connection: uvicorn's own, with time-outs for clients that send or read too slowly, and the hot path in front."""

from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from waypost.web.hot import HotPath

# From the first byte of a request to the end of its headers; also how long a new connection may take to begin.
_HEAD_SECONDS = 10.0
# How long a client may read nothing while we have something for it.
_READ_SECONDS = 30.0
_HALF_READ = ("head", "end")


class Connection(HttpToolsProtocol):
    """What the hot path answers never becomes a task; every other request takes uvicorn's way.

    It relies on names of uvicorn that are not public, which is why the release is pinned.
    """

    def __init__(self, *given: Any, hot: HotPath | None = None, **more: Any) -> None:
        super().__init__(*given, **more)
        self._hot = hot
        self._running: RequestResponseCycle | None = None
        # What it waits for: a first request, another one, the rest of one; or nothing, while one is answered.
        self._awaits: Literal["first", "request", "head", "end"] | None = "first"
        # Grows with each request, so that who looks now and then sees whether something happened.
        self._requests = 0
        self._seen: tuple[int, str | None] = (0, self._awaits)
        self._unread = 0
        self._since = self._unread_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        # uvicorn tells only the request that came last, and this one would go on writing to nobody.
        if self._running is not None:
            self._running.disconnected = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._hot is None or not self._is_free() or not self._answer_now(self._hot, data):
            super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._awaits = "head"
        self._requests += 1

    def on_headers_complete(self) -> None:
        self._awaits = "end"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._awaits = None
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _is_free(self) -> bool:
        """Whether a request can begin here, and its answer go out in its turn without waiting for the client."""
        # When the last request that took the long way has its answer, all before it have theirs.
        last: RequestResponseCycle | None = self.cycle
        return (
            self._awaits not in _HALF_READ
            and (last is None or last.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
            and (self.limit_concurrency is None or len(self.connections) < self.limit_concurrency)
        )

    def _answer_now(self, hot: HotPath, data: bytes) -> bool:
        try:
            written = hot.answer(data, self.scheme or "http", self.server_state.default_headers)
        except Exception:  # noqa: BLE001 - a defect: the long way meets it too, and tells of it
            return False
        if written is None:
            return False
        if len(written) == 1:
            self.transport.write(written[0])
        else:
            self.transport.writelines(written)
        self._unset_keepalive_if_required()
        self._awaits = "request"
        self._requests += 1
        self.server_state.total_requests += 1
        return True

    def look(self, now: float) -> None:
        """Asked about once a second: ends what has waited for its client for too long."""
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
