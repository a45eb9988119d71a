"""In front of the routes: refuses, delays or breaks requests before they are answered."""

import asyncio
import hmac
import time

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from waypost.kernel.host_header import host_name, is_foreign, is_loopback
from waypost.simulator.breaking import break_answer
from waypost.simulator.callers import CallerRefusal, Callers
from waypost.simulator.conduct import Conduct
from waypost.simulator.faults import throw
from waypost.simulator.journal import Journal, LoggedRequest
from waypost.simulator.query import QueryParameters
from waypost.simulator.wire import Wire

_NOT_YOURS = PlainTextResponse("this is for pages and programs on this machine: ask http://127.0.0.1\n", 403)
_UNKNOWN_KEY = "REQUEST FAILED: you must specify a known API key, as the X-API-Key header or the key parameter"


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
            await _response(refusal)(scope, receive, wire.send)
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


def _response(refusal: CallerRefusal) -> Response:
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else None
    return PlainTextResponse(refusal.words, refusal.status, headers)
