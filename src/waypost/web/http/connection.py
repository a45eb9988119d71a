"""One connection: uvicorn's own, with a deadline for its client in every state, and hot paths in front."""

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import HOT_PATH_DEFECTS
from waypost.telemetry.rated_log import RatedLog
from waypost.web.follow.hot_path import RedirectPath
from waypost.web.http.client_deadlines import Awaits, Patience, State
from waypost.web.http.health import PROBE_PATHS
from waypost.web.http.open_connections import OpenConnections, Reason, Waiting, count_closed
from waypost.web.http.refusals import MOST_HEAD, OVERLOADED, Refused, note_refused, refuse
from waypost.web.places.hot_path import HotPath

rated = RatedLog(get_logger("web"))

# What is parsed at a time, so that no more requests than fit into it wait behind the one that is being answered.
_PIECE = 4096


class HeadTooLarge(ValueError):
    """Stops the parser."""


class PausedReading(FlowControl):
    """Nothing more is read while something that was read waits to be parsed, even if uvicorn would go on."""

    is_held = False

    def resume_reading(self) -> None:
        if not self.is_held:
            super().resume_reading()


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
        self._awaits: Awaits = "first"
        self._requests = 0
        self._patience = Patience(self.loop.time())
        # Bytes that the parser was given since it last reported something other than a header.
        self._kept = 0
        # What was read and is parsed later.
        self._later = b""
        self._wants_upgrade = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        self.flow: PausedReading = PausedReading(transport)
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
            self._parse(data)

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
        """Parses until a request has to wait for the answer to another one; the rest is parsed when that has left."""
        rest = memoryview(self._later + data)
        while rest and not self.pipeline and not self.transport.is_closing():
            rest = rest[self._parse_piece(rest[:_PIECE]) :]
        self._later = b"" if self.transport.is_closing() else bytes(rest)
        self.flow.is_held = bool(self._later)
        if self._later:
            self.flow.pause_reading()

    def _parse_piece(self, piece: memoryview) -> int:
        """Returns how many bytes of it were parsed."""
        parsed = len(piece)
        self._kept += parsed
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            parsed = upgrade.args[0]
            self._begin_without_upgrade()
        except httptools.HttpParserError as error:
            is_large = isinstance(error.__context__, HeadTooLarge)
            self._refuse((431, "headers-too-large") if is_large else (400, "not-http"))
        else:
            if self._kept > MOST_HEAD and self._awaits in {"head", "rest"}:
                self._refuse((431, "headers-too-large"))
        return parsed

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
        if self._later:
            self._parse(b"")
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
        since = self._patience.waits_since(now, self._state())
        return None if since is None else (self._requests > 0, since, self._requests)

    def look(self, now: float) -> None:
        """Closes the connection if its client has been waited for for too long."""
        unread = self.transport.get_write_buffer_size()
        if reason := self._patience.look(now, self._state(), unread, self._others.limits.keep_alive):
            self.give_up(reason)

    def give_up(self, reason: Reason) -> None:
        count_closed(reason)
        # Closing would wait for what the client does not read.
        self.transport.abort()

    def _state(self) -> State:
        return self._requests, self._awaits, self.is_answering
