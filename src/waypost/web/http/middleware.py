"""Around every request: bounds on what comes in, headers on what goes out, and a measurement."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from time import perf_counter

from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.kernel.host_header import are_usable_hosts
from waypost.telemetry.metrics import HTTP_REQUESTS, HTTP_SECONDS, ManyHistogram
from waypost.web.http.cors import Cors, is_reading
from waypost.web.http.encoded_headers import Head, head_of
from waypost.web.http.problems import problem

LONGEST_ADDRESS = 8 * 1024
_MOST_BODY = 64 * 1024
_BODY_SECONDS = 10.0
# Methods that are not in this list share one label: a client must not be able to invent metrics.
_METHODS = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"}
NOSNIFF = (b"x-content-type-options", b"nosniff")
_ALWAYS = head_of(NOSNIFF)


# These routes read their bodies themselves, once they know that the caller may send them.
READ_THEIR_OWN = frozenset({("POST", "/v1/links/bulk")})


class BodyRefused(Exception):
    """The address is too long, the Host is none, or the body is too large, too slow or incomplete; `answer` says so."""

    def __init__(self, status: int, slug: str, detail: str, parameter: str | None = None) -> None:
        super().__init__(detail)
        self.answer = problem(status, slug, detail, parameter=parameter)


class Bounds:
    """Refuses long addresses and large or slow bodies before any route sees them; measures the rest."""

    def __init__(self, app: ASGIApp, cors: tuple[str, ...] = ()) -> None:
        self._app = app
        self._cors = Cors(cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        status = 500
        headers = dict(scope["headers"])
        # Making a link to a place is not reading, so no other site's page may see the answer.
        read = scope["path"] if is_reading(scope, headers) else ""

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*self.head(read, headers).headers, *message["headers"]]
            await send(message)

        try:
            if (allowed := self._cors.preflight(scope, headers)) is not None:
                await send_on({"type": "http.response.start", "status": 204, "headers": allowed})
                await send_on({"type": "http.response.body", "body": b""})
            else:
                await self._answer(scope, receive, send_on)
        finally:
            route = getattr(scope.get("route"), "path_format", "unmatched")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            measure(route, method, status, [perf_counter() - started])

    def head(self, path: str, asked: Mapping[bytes, bytes]) -> Head:
        """The headers that every answer gets, from a route or from a hot path."""
        return head_of(*self._cors.headers(path, asked), NOSNIFF) if self._cors.is_open else _ALWAYS

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _check_address(scope)
            _check_host(scope)
            if (scope["method"], scope["path"]) not in READ_THEIR_OWN:
                receive = _replayed(await read_body(scope, receive), receive)
        except BodyRefused as refused:
            await refused.answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def measure(route: str, method: str, status: int, seconds: Sequence[float]) -> None:
    """Counts requests with the same route, method and status, and how long each of them took."""
    counted, timed = _meters(route, method, status)
    counted.inc(len(seconds))
    timed.observe_many(seconds)


@cache
def _meters(route: str, method: str, status: int) -> tuple[Counter, ManyHistogram]:
    """Looked up once: finding a metric by its labels takes longer than counting. Clients cannot invent labels."""
    return HTTP_REQUESTS.labels(route, method, str(status)), HTTP_SECONDS.labels(route)


def _check_address(scope: Scope) -> None:
    if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
        raise BodyRefused(400, "address-too-long", f"an address has at most {LONGEST_ADDRESS} bytes")


def _check_host(scope: Scope) -> None:
    if not are_usable_hosts([value for name, value in scope["headers"] if name == b"host"]):
        raise BodyRefused(
            400, "bad-host", "the header Host is not the name of a host, or is there twice", parameter="Host"
        )


async def read_body(scope: Scope, receive: Receive, *, most: int = _MOST_BODY, seconds: float = _BODY_SECONDS) -> bytes:
    """Reads the whole body before any route runs: a route that reads would turn our refusal into its own error."""
    headers = dict(scope["headers"])
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return b""
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    # Half a body that happens to be whole JSON must not be acted on.
                    raise BodyRefused(400, "body-incomplete", "the client went away before its body was complete")
                body += message["body"]
                if len(body) > most:
                    raise BodyRefused(413, "body-too-large", f"a body has at most {most} bytes here")
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise BodyRefused(408, "body-too-slow", f"the body did not arrive within {seconds:.0f} s") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def take() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return take
