"""The provider over HTTP: `/v3/poi` and `/v3/referencedata`, as the Open Charge Map protocol has them.

In front of its routes, requests are refused, delayed or broken.
"""

import asyncio
import gzip
import hmac
import time
from dataclasses import replace

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kernel.host_header import host_name, is_foreign, is_loopback
from waypost.simulator.breaking import Wire, break_answer
from waypost.simulator.changes import ProviderChanges
from waypost.simulator.conduct import CallerRefusal, Callers, Conduct, throw
from waypost.simulator.control import Control
from waypost.simulator.journal import Journal, LoggedRequest
from waypost.simulator.provider import Provider
from waypost.simulator.query import ProviderQuery, QueryParameters, read_query
from waypost.simulator.selecting import kilometres
from waypost.simulator.shapes import MEDIA_TYPES, array, body, is_stored

_NOT_YOURS = PlainTextResponse("this is for pages and programs on this machine: ask http://127.0.0.1\n", 403)
_UNKNOWN_KEY = "REQUEST FAILED: you must specify a known API key, as the X-API-Key header or the key parameter"
# Answers are large, so only a few are made at the same time; more would not be quicker.
_AT_ONCE = 4
_SMALLEST_COMPRESSED = 1024


class ProviderFront:
    """Only requests below /v3/ are refused, delayed or broken. Those for our own routes below /-/ are not logged, and
    must come from this machine, also where a name of somebody else's points to it.
    """

    def __init__(self, app: ASGIApp, routes: list[BaseRoute], conduct: Conduct, journal: Journal) -> None:
        self.routes = routes
        self._app = app
        self._conduct = conduct
        self._journal = journal
        self._callers = Callers(conduct.limits, conduct.ban_after)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/livez":
            await self._app(scope, receive, send)
            return
        request, wire = Request(scope), Wire(receive, send)
        if scope["path"].startswith("/-"):
            is_ours = is_loopback(host_name(request.headers.get("host", "")) or "")
            answer = self._app if is_ours and not is_foreign(request.headers, scope["scheme"]) else _NOT_YOURS
            await answer(scope, receive, send)
            return
        parameters = request.query_params.multi_items()
        key = request.headers.get("x-api-key") or QueryParameters(parameters).text("key")
        visit = self._journal.arrive(request.method, scope["path"], parameters, key)
        try:
            if scope["path"].startswith("/v3/"):
                await self._treat(visit, self._refuse(request, key), scope, receive, wire)
            else:
                await self._app(scope, receive, wire.send)
        finally:
            visit.status, visit.bytes = wire.status, wire.sent
            self._journal.leave(visit)

    async def _treat(
        self, visit: LoggedRequest, refusal: CallerRefusal | None, scope: Scope, receive: Receive, wire: Wire
    ) -> None:
        if self._conduct.latency:
            await asyncio.sleep(self._conduct.latency)
        if refusal:
            await _refused(refusal)(scope, receive, wire.send)
            return
        visit.fault = self._conduct.faults.draw(visit.number)
        if visit.fault:
            chance = throw(self._conduct.faults.seed, visit.number, "way")
            await break_answer(visit.fault, chance, self._app, scope, receive, wire)
        else:
            await self._app(scope, receive, wire.send)

    def _refuse(self, request: Request, key: str) -> CallerRefusal | None:
        known = self._conduct.key
        if known and not hmac.compare_digest(key.encode(), known.encode()):
            return CallerRefusal(403, _UNKNOWN_KEY)
        client = request.client.host if request.client else ""
        return self._callers.refuse(f"key {key}" if key else f"client {client}", time.monotonic())


def _refused(refusal: CallerRefusal) -> Response:
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else None
    return PlainTextResponse(refusal.words, refusal.status, headers)


def make_app(
    provider: Provider,
    *,
    key: str | None,
    conduct: Conduct | None = None,
    changes: ProviderChanges | None = None,
    journal: Journal | None = None,
) -> ProviderFront:
    """An app over this provider. With a key, every request needs it; without one, anyone may ask."""
    conduct, journal = replace(conduct or Conduct(), key=key), journal or Journal()
    door = _Door(provider, conduct.truncate)
    control = Control(provider, changes or ProviderChanges(provider, seed=0), journal)
    app = Starlette(
        routes=[
            Route("/", door.about),
            Route("/livez", door.livez),
            Route("/v3/poi", door.poi),
            Route("/v3/referencedata", door.referencedata),
            Route("/-/", control.page),
            Route("/-/seen", control.seen),
            Route("/-/export", control.export),
            Route("/-/changes", control.change, methods=["POST"]),
        ]
    )
    return ProviderFront(app, app.routes, conduct, journal)


class _Door:
    def __init__(self, provider: Provider, truncate: int | None) -> None:
        self._provider = provider
        self._truncate = truncate
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def about(self, _request: Request) -> Response:
        return PlainTextResponse(
            f"This is a simulated provider with {len(self._provider)} invented or loaded places, made by Waypost.\n"
            "It speaks the Open Charge Map protocol: ask /v3/poi and /v3/referencedata.\n"
            "What it saw is at /-/\n"
        )

    async def livez(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def poi(self, request: Request) -> Response:
        query = read_query(request.query_params.multi_items())
        if self._truncate:
            query = replace(query, limit=min(query.limit, self._truncate))
        async with self._turns:
            return await asyncio.to_thread(self._answer, query, compressed=_accepts_gzip(request))

    async def referencedata(self, request: Request) -> Response:
        return _response(self._provider.reference.encoded, "application/json", compressed=_accepts_gzip(request))

    def _answer(self, query: ProviderQuery, *, compressed: bool) -> Response:
        provider = self._provider
        rows = provider.select(query)
        if is_stored(query):
            answer = array(provider.take(rows, query.form))
        else:
            away = kilometres(provider.columns, rows, query.near) if query.near else None
            answer = body(provider.take(rows), away, query)
        return _response(answer, MEDIA_TYPES[query.output], compressed=compressed)


def _response(content: bytes, media_type: str, *, compressed: bool) -> Response:
    headers = {"Vary": "Accept-Encoding"}
    if compressed and len(content) > _SMALLEST_COMPRESSED:
        content, headers["Content-Encoding"] = gzip.compress(content, compresslevel=1, mtime=0), "gzip"
    return Response(content, media_type=media_type, headers=headers)


def _accepts_gzip(request: Request) -> bool:
    for coding in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = (word.strip() for word in coding.partition(";"))
        if name == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
