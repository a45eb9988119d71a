"""Around every request: bounds on what comes in, headers on what goes out, and a measurement."""

import asyncio
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.telemetry.metrics import HTTP_REQUESTS, HTTP_SECONDS
from waypost.web.problems import problem

_MOST_BODY = 64 * 1024
_LONGEST_ADDRESS = 8 * 1024
_BODY_SECONDS = 10.0
# What is not in this list shares one label: a client must not be able to invent metrics.
_METHODS = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"}


class _Refused(Exception):
    def __init__(self, status: int, slug: str, detail: str) -> None:
        super().__init__(detail)
        self.answer = problem(status, slug, detail)


class Bounds:
    """Refuses long addresses and large or slow bodies before any route sees them; measures the rest."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        status = 500

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        try:
            await self._answer(scope, receive, send_on)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            HTTP_REQUESTS.labels(route, method, str(status)).inc()
            HTTP_SECONDS.labels(route).observe(perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _check_address(scope)
            body = await _read_body(scope, receive)
        except _Refused as refused:
            await refused.answer(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)


def _check_address(scope: Scope) -> None:
    if len(scope["raw_path"]) + len(scope["query_string"]) > _LONGEST_ADDRESS:
        raise _Refused(400, "address-too-long", f"an address has at most {_LONGEST_ADDRESS} bytes")


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """All of it, before any route runs: a route that reads would turn our refusal into an error of its own."""
    headers = dict(scope["headers"])
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return b""
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    # Half a body that happens to be whole JSON must not be acted on.
                    raise _Refused(400, "body-incomplete", "the client went away before its body was complete")
                body += message["body"]
                if len(body) > _MOST_BODY:
                    raise _Refused(413, "body-too-large", f"a body has at most {_MOST_BODY} bytes")
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise _Refused(408, "body-too-slow", f"the body did not arrive within {_BODY_SECONDS:.0f} s") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def take() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return take
