"""The hot path: which requests are answered in front of FastAPI, by the same code as behind it.

Clients repeat themselves: after the first line, most requests of a connection have the same bytes. So a block of
headers is parsed once, by the parser that uvicorn has, and known by its bytes from then on. Anything unusual (a body, a
path with escapes, half a request, several at once) is left to uvicorn and FastAPI.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from time import perf_counter

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.web.http.authentication import KEY_HEADERS
from waypost.web.http.encoded_headers import Head, Header, head_of
from waypost.web.http.hot_path_headers import parse_block
from waypost.web.http.middleware import Bounds, measure
from waypost.web.places.answer import LARGE, Answer
from waypost.web.places.routes import Front

# A place or an item, a list of them, or a tile; longer addresses are rare, and Bounds decides about them.
_REQUEST = re.compile(
    rb"GET (?:(/v1/places|/collections/places/items)(?:/([\w.:~-]{1,200}))?|/tiles/(\d{1,2})/(\d{1,9})/(\d{1,9})\.mvt)"
    rb"(?:\?([!\"$-~]{0,1500}))? HTTP/1\.1\r\n",
    re.ASCII,
)
_ROUTES: dict[tuple[bytes | None, int], str] = {
    (b"/v1/places", 0): "/v1/places",
    (b"/v1/places", 1): "/v1/places/{place}",
    (b"/collections/places/items", 0): "/collections/places/items",
    (b"/collections/places/items", 1): "/collections/places/items/{place}",
    (None, 3): "/tiles/{z}/{x}/{y}.mvt",
}
_MOST_BLOCKS = 1024
_MOST_MEASURED = 1000
# Less than this is cheaper to copy than to write in parts.
_SMALL = 64 * 1024

Asked = Mapping[bytes, bytes]


class HotPath:
    def __init__(self, front: Front, bounds: Bounds) -> None:
        self._front, self._bounds, self._gate = front, bounds, front.gate
        handlers = {route.path: route.handler for route in front.routes()}
        # By the path's beginning, and the number of values inside the path.
        self._routes = {key: (route, handlers[route]) for key, route in _ROUTES.items()}
        # The headers that uvicorn puts before ours: another list each second.
        self._default: list[Header] = []
        self._default_written = b""
        self._measured: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        self._blocks: dict[bytes, Asked] = {}

    def answer(self, data: bytes, scheme: str, default: list[Header]) -> list[bytes | memoryview] | None:
        """Returns what to write for the bytes of a request; None leaves the request to FastAPI."""
        started = perf_counter()
        matched = _REQUEST.match(data)
        if matched is None:
            return None
        # The block begins with the end of the first line.
        asked = self._headers(data[matched.end() - 2 :])
        if asked is None or (self._gate and not self._gate.opens_now(matched[0], asked)):
            return None
        path, place, z, x, y, query = matched.groups()
        inside = (place.decode(),) if place else (z.decode(), x.decode(), y.decode()) if z else ()
        route, handler = self._routes[path, len(inside)]
        if place == b"counts":
            return None
        request = self._front.place_request(query or b"", asked, scheme)
        answer = self._front.answer_now(handler, request, *inside)
        if answer is None or answer.size > LARGE:
            return None
        if default is not self._default:
            self._default, self._default_written = default, head_of(*default).written
        written = self._write(answer, self._bounds.head(route, asked))
        seconds = self._measured[route, answer.status]
        seconds.append(perf_counter() - started)
        if len(seconds) >= _MOST_MEASURED:
            self.settle()
        return written

    def settle(self) -> None:
        """Counts what was answered since the last call; counting many at once is cheaper for each."""
        for (route, status), seconds in self._measured.items():
            measure(route, "GET", status, seconds)
        self._measured.clear()

    def _write(self, answer: Answer, around: Head) -> list[bytes | memoryview]:
        length = b"content-length: %d\r\n\r\n" % answer.size if answer.has_length else b"\r\n"
        head = (STATUS_LINE[answer.status], self._default_written, around.written, answer.head.written, length)
        if answer.size < _SMALL:
            return [b"".join((*head, *answer.chunks))]
        return [b"".join(head), *answer.chunks]

    def _headers(self, block: bytes) -> Asked | None:
        try:
            return self._blocks[block]
        except KeyError:
            pass
        headers = parse_block(block)
        if headers is None or (self._gate and sum(name in KEY_HEADERS for name, _ in headers) > 1):
            return None
        if len(self._blocks) >= _MOST_BLOCKS:
            self._blocks.clear()
        return self._blocks.setdefault(block, dict(headers))
