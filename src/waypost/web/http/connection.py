"""One connection: uvicorn's own, with a deadline for its client in every state, and hot paths in front."""

import asyncio
from typing import Any, Literal

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import HOT_PATH_DEFECTS
from waypost.telemetry.rated_log import RatedLog
from waypost.web.follow.hot_path import RedirectPath
from waypost.web.http.health import PROBE_PATHS
from waypost.web.http.open_connections import SECONDS_BETWEEN_LOOKS, OpenConnections, Reason, Waiting, count_closed
from waypost.web.http.refusals import MOST_HEAD, OVERLOADED, Refused, note_refused, refuse
from waypost.web.places.hot_path import HotPath

rated = RatedLog(get_logger("web"))

# From the first byte of a request to the end of its headers; also how long a new connection may take to begin, and
# how long the rest of a body may take that was answered without it.
_HEAD_SECONDS = 10.0
# How long a client may read nothing while we have something for it.
_READ_SECONDS = 30.0

_OVERDUE: dict[str, Reason] = {"first": "silent", "head": "slow-head", "rest": "slow-body", "request": "idle"}


class HeadTooLarge(ValueError):
    """Stops the parser."""


class Connection(HttpToolsProtocol):
    """A request that a hot path answers never becomes a task; every other one takes uvicorn's way.

    It relies on names of uvicorn that are not public, which is why the release is pinned.
    """

    def __init__(
        self,
        *given: Any,
        others: OpenConnections,
        hot: HotPath | None = None,
        redirects: RedirectPath | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        self._others, self._hot, self._redirects = others, hot, redirects
        self.peer, self.round = "", 0
        # The request that is being answered; None when all that were read have their answers.
        self._running: RequestResponseCycle | None = None
        # What the parser waits for: a first request, another one, the rest of its head, the rest of its body.
        self._awaits: Literal["first", "request", "head", "rest"] = "first"
        # Grows with each request, so that `look` can tell whether something happened.
        self._requests = 0
        self._seen: tuple[int, str, bool] = (0, self._awaits, False)
        # Bytes that the parser was given since it last reported something other than a header.
        self._kept = 0
        self._wants_upgrade = False
        self._unread = 0
        self._since = self._unread_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        self._others.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._others.discard(self)
        # uvicorn tells only the last request; an earlier one that still runs would go on writing to nobody.
        if self._running is not None:
            self._running.disconnected = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # A hot path may answer if a request begins here, every earlier one has its answer and the client keeps reading.
        if (
            self._running is not None
            or self._awaits == "head"
            or self.flow.write_paused
            or self.transport.is_closing()
            or not self._answer_now(data)
        ):
            self._kept += len(data)
            self._parse(data)
            if self._kept > MOST_HEAD and self._awaits in {"head", "rest"}:
                self._refuse((431, "headers-too-large"))

    def _answer_now(self, data: bytes) -> bool:
        default = self.server_state.default_headers
        try:
            written = self._hot.answer(data, self.scheme or "http", default) if self._hot else None
            if written is None and self._redirects:
                written = self._redirects.answer(data, self.peer, default)
        except Exception as defect:  # noqa: BLE001 - the long way may know better
            HOT_PATH_DEFECTS.inc()
            rated.error("a defect in a hot path; such requests take the long way", defect)
            return False
        if written is None:
            return False
        if len(written) == 1:
            self.transport.write(written[0])
        else:
            self.transport.writelines(written)
        self._awaits = "request"
        self._requests += 1
        self.server_state.total_requests += 1
        return True

    def _parse(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
                self._begin_without_upgrade()
            except httptools.HttpParserError as error:
                is_large = isinstance(error.__context__, HeadTooLarge)
                self._refuse((431, "headers-too-large") if is_large else (400, "not-http"))
                return
            else:
                return

    def _begin_without_upgrade(self) -> None:
        """A client that asks for another protocol is answered in this one.

        The parser takes everything behind such a head for the other protocol, even the body. So another one is given
        the head again, without the wish.
        """
        first = self.parser.get_method(), self.url, self.parser.get_http_version().encode()
        lines = [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"%b %b HTTP/%b\r\n" % first + b"".join(lines) + b"\r\n")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._kept = 0
        self._awaits = "head"

    def on_headers_complete(self) -> None:
        self._kept = 0
        if sum(len(name) + len(value) for name, value in self.headers) > MOST_HEAD:
            raise HeadTooLarge
        self._wants_upgrade = self.parser.should_upgrade()
        if not self._wants_upgrade:
            self._awaits = "rest"
            super().on_headers_complete()
        elif self.parser.get_method() == b"CONNECT":
            raise ValueError("nothing is tunnelled here")

    def on_body(self, body: bytes) -> None:
        self._kept = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._wants_upgrade:
            super().on_message_complete()
            self._awaits = "request"
            self._requests += 1
            self._forget_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Of uvicorn's timer there is nothing left after the next byte, whatever that is; `look` needs no timer.
        self._unset_keepalive_if_required()
        self._forget_request()

    def _forget_request(self) -> None:
        """What is idle keeps nothing of its last request: its headers may be large, and idle connections many."""
        if self._awaits == "request" and not self.is_answering:
            self.cycle = self.scope = self.headers = self._running = None  # type: ignore[assignment] # as in uvicorn
            self.url = b""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        if cycle.scope["path"] not in PROBE_PATHS and not self._others.has_room_for_request(self, len(self.tasks)):
            note_refused("overloaded")
            app = OVERLOADED
        super()._start_asgi_task(cycle, app)

    def _refuse(self, refused: Refused) -> None:
        # Nothing may be written inside another answer: a client that waits for one learns it from the close.
        answer = refuse(refused, self.server_state.default_headers)
        if not self.is_answering:
            self.transport.write(answer)
        self.transport.close()

    @property
    def is_answering(self) -> bool:
        """Whether a request was read for which there is no whole answer; when the last one has its, all have theirs."""
        return self._running is not None and not self.cycle.response_complete

    def waits_since(self, now: float) -> Waiting | None:
        waits_for_rest = not self.is_answering or self._awaits == "rest"
        if not self._unread and not waits_for_rest:
            return None
        since = self._unread_since if self._unread else self._since
        # What happened since the last look cannot be told apart: it happened now.
        is_recent = self._seen != self._state() or now - since < SECONDS_BETWEEN_LOOKS
        return self._requests > 0, now if is_recent else since, self._requests

    def look(self, now: float) -> None:
        """Called every `SECONDS_BETWEEN_LOOKS`: closes the connection if it has waited for its client for too long."""
        seen = self._state()
        unread = self.transport.get_write_buffer_size()
        if unread or seen != self._seen:
            self._seen, self._since = seen, now
        if not unread or unread != self._unread:
            self._unread, self._unread_since = unread, now
        # Routes have deadlines of their own for bodies that they wait for.
        if not self.is_answering and now - self._since > self._patience():
            self.give_up(_OVERDUE[self._awaits])
        elif unread and now - self._unread_since > _READ_SECONDS:
            self.give_up("unread")

    def give_up(self, reason: Reason) -> None:
        count_closed(reason)
        # Closing would wait for what the client does not read.
        self.transport.abort()

    def _patience(self) -> float:
        return self._others.limits.keep_alive if self._awaits == "request" else _HEAD_SECONDS

    def _state(self) -> tuple[int, str, bool]:
        return self._requests, self._awaits, self.is_answering
