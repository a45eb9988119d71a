"""Answers to what no route sees: bytes that are not HTTP, heads that are too large, and requests that are too many."""

from collections.abc import Iterable
from typing import Literal

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import HTTP_REFUSED
from waypost.telemetry.rated_log import RatedLog
from waypost.web.http.encoded_headers import Header, new_head
from waypost.web.http.middleware import NOSNIFF
from waypost.web.http.problems import problem, problem_document

rated = RatedLog(get_logger("web"))

# All headers of a request together; hot paths answer only far smaller ones.
MOST_HEAD = 64 * 1024
_DETAILS = {
    (400, "not-http"): "this is not an HTTP/1.1 request; look at its first line and headers, and use http:// here",
    (431, "headers-too-large"): (
        f"the headers of a request have at most {MOST_HEAD} bytes together; send fewer, or shorter ones"
    ),
}

Refused = tuple[Literal[400], Literal["not-http"]] | tuple[Literal[431], Literal["headers-too-large"]]

OVERLOADED = problem(503, "overloaded", "too many requests are being answered; try again in a second")
OVERLOADED.headers["Retry-After"] = "1"
OVERLOADED.headers["X-Content-Type-Options"] = "nosniff"


def refuse(refused: Refused, default: Iterable[Header]) -> bytes:
    """Counts it, and returns an answer after which the connection is closed."""
    status, slug = refused
    note_refused(slug)
    body = problem_document(status, slug, _DETAILS[refused])
    head = new_head(
        *default,
        NOSNIFF,
        (b"content-type", b"application/problem+json"),
        (b"cache-control", b"no-store"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    )
    return STATUS_LINE[status] + head.written + b"\r\n" + body


def note_refused(slug: str) -> None:
    HTTP_REFUSED.labels(slug).inc()
    rated.warning("a request was refused before any route saw it", slug=slug)
