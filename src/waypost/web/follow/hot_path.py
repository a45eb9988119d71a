"""The hot path of redirects: a link that is in memory is followed in front of FastAPI, with the same bytes.

Nothing is awaited, and no store is asked: the visit goes to the spool, and the answer out. What is unusual in any way
(a query, an escape, a password, a limit, a preview, a link that is not in memory) is left to FastAPI.
"""

from time import time

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.kernel.clock import monotonic
from waypost.sharing.visits.lines import VisitLines, day_of
from waypost.telemetry.metrics import REDIRECTS
from waypost.web.follow.parts import FollowParts
from waypost.web.follow.visitor import read_asked
from waypost.web.http.header_blocks import parse_block
from waypost.web.http.heads import Header, head_of
from waypost.web.http.middleware import Bounds, measure

ROUTE = "/{phrase}"
_GET = b"GET /"
_VERSION = b" HTTP/1.1\r\n"
_LONGEST_PHRASE = 120
_PHRASE = len(_GET)
_FIRST_LINE = _PHRASE + _LONGEST_PHRASE + len(_VERSION)
# The end of the first line may be the end of all of it.
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
        # What stands before a link's own headers: another each second.
        self._default: list[Header] = []
        self._before = b""
        # Clients repeat themselves: all but the link and the moment of a visit, by who is connected and their headers.
        self._endings: dict[tuple[str, bytes], bytes | None] = {}
        self._day = (0.0, 0.0)
        self._measured: list[float] = []

    def answer(self, data: bytes, peer: str, default: list[Header]) -> list[bytes | memoryview] | None:
        """What to write for the bytes of a request; nothing where the long way is to be taken."""
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
        """Counts what was answered since the last time; many at once cost each of them less."""
        if self._measured:
            measure(ROUTE, "GET", self._status, self._measured)
            REDIRECTS.labels("followed").inc(len(self._measured))
            self._measured.clear()

    def _begin_day(self, at: float) -> None:
        """Visitors have other names from now on."""
        self._day = day_of(at)
        self._endings.clear()

    def _look_at(self, peer: str, block: bytes, at: float) -> bytes | None:
        """How lines of this visitor end; nothing for those whose requests take the long way."""
        headers = parse_block(block)
        if headers is None:
            return None
        asked, ending = read_asked(headers), None
        if not asked.shown.is_preview:
            ending = self._lines.ending(at, self._proxies.client(peer, asked.headers), asked.shown)
        if len(self._endings) >= _MOST_VISITORS:
            self._endings.clear()
        self._endings[peer, block] = ending
        return ending
