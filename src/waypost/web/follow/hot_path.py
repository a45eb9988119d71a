"""The hot path of redirects: a link that is in memory is followed in front of FastAPI, with the same bytes.

Nothing is awaited, and no store is asked: the visit goes to the spool, and the answer goes out. Anything unusual (a
query, an escape, a password, a limit, a preview, a link that is not in memory) is left to FastAPI.
"""

from time import time

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.kernel.clock import monotonic
from waypost.sharing.visits.lines import VisitLines, day_of
from waypost.telemetry.metrics import REDIRECTS
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.follow.visitor_headers import read_visitor
from waypost.web.http.encoded_headers import Header, head_of
from waypost.web.http.hot_path_headers import parse_block
from waypost.web.http.middleware import Bounds, measure

ROUTE = "/{phrase}"
_GET = b"GET /"
_VERSION = b" HTTP/1.1\r\n"
_LONGEST_PHRASE = 120
_PHRASE = len(_GET)
_FIRST_LINE = _PHRASE + _LONGEST_PHRASE + len(_VERSION)
# The block begins with the end of the first line, so that one without headers also ends with two line ends.
_BLOCK = len(_VERSION) - len(b"\r\n")
_MOST_VISITORS = 4096
_MOST_MEASURED = 1000


class RedirectPath:
    def __init__(self, parts: FollowParts, bounds: Bounds) -> None:
        self._hit = parts.cache.hit
        self._lines, self._record_line = VisitLines(parts.observer), parts.record_line
        self._proxies = parts.proxies
        self._status = parts.settings.status
        self._around = bounds.head(ROUTE, {}).written
        # The bytes before a link's own headers; they change each second.
        self._default: list[Header] = []
        self._before = b""
        # Clients repeat themselves: by peer and headers, the line of a visit without its link and time.
        self._endings: dict[tuple[str, bytes], bytes | None] = {}
        self._day = (0.0, 0.0)
        self._measured: list[float] = []

    def answer(self, data: bytes, peer: str, default: list[Header]) -> list[bytes | memoryview] | None:
        """Returns what to write for the bytes of a request; None leaves the request to FastAPI."""
        started = monotonic()
        end = data.find(_VERSION, _PHRASE, _FIRST_LINE)
        known = self._hit(data[_PHRASE:end], started)
        if known is None or not known.is_quick or end < 0 or not data.startswith(_GET):
            return None
        at, block = time(), data[end + _BLOCK :]
        if not self._day[0] <= at < self._day[1]:
            self._begin_day(at)
        try:
            ending = self._endings[peer, block]
        except KeyError:
            ending = self._look_at(peer, block, at)
        if ending is None or known.ends <= at:
            return None
        self._record_line(self._lines.line(known.link_id, at, ending))
        if default is not self._default:
            self._default = default
            self._before = STATUS_LINE[self._status] + head_of(*default).written + self._around
        self._measured.append(monotonic() - started)
        if len(self._measured) >= _MOST_MEASURED:
            self.settle()
        return [self._before + known.tail]

    def settle(self) -> None:
        """Counts what was answered since the last call; counting many at once is cheaper for each."""
        if self._measured:
            measure(ROUTE, "GET", self._status, self._measured)
            REDIRECTS.labels("followed").inc(len(self._measured))
            self._measured.clear()

    def _begin_day(self, at: float) -> None:
        """Forgets the endings: visitors get other hashes each day."""
        self._day = day_of(at)
        self._endings.clear()

    def _look_at(self, peer: str, block: bytes, at: float) -> bytes | None:
        """Returns how this visitor's lines end; None for requests that are left to FastAPI."""
        headers = parse_block(block)
        if headers is None:
            return None
        asked, ending = read_visitor(headers), None
        if not asked.shown.is_preview:
            ending = self._lines.ending(at, self._proxies.client(peer, asked.headers), asked.shown)
        if len(self._endings) >= _MOST_VISITORS:
            self._endings.clear()
        self._endings[peer, block] = ending
        return ending
