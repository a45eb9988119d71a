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


class _TooMuch(Exception):
    pass


class Bounds:
    """Refuses long addresses and large or slow bodies before any route sees them."""

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
        if len(scope["raw_path"]) + len(scope["query_string"]) > _LONGEST_ADDRESS:
            await problem(400, "address-too-long", f"an address has at most {_LONGEST_ADDRESS} bytes")(
                scope, receive, send
            )
            return
        try:
            await self._app(scope, _bounded(receive), send)
        except _TooMuch:
            await problem(413, "body-too-large", f"a body has at most {_MOST_BODY} bytes")(scope, receive, send)
        except TimeoutError:
            await problem(400, "body-too-slow", f"the body did not arrive within {_BODY_SECONDS:.0f} s")(
                scope, receive, send
            )


def _bounded(receive: Receive) -> Receive:
    taken = 0
    complete = False

    async def take() -> Message:
        nonlocal taken, complete
        if complete:
            # Waiting for the client to go away may take as long as the answer does.
            return await receive()
        async with asyncio.timeout(_BODY_SECONDS):
            message = await receive()
        taken += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if taken > _MOST_BODY:
            raise _TooMuch
        return message

    return take
