"""The provider over HTTP: `/v3/poi` and `/v3/referencedata`, as the Open Charge Map protocol has them."""

import hmac

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from waypost.simulator.provider import Provider
from waypost.simulator.query import Parameters, read_query
from waypost.simulator.shapes import MEDIA_TYPES, body

_REFUSAL = "REQUEST FAILED: you must specify a known API key, as the X-API-Key header or the key parameter"


def make_app(provider: Provider, *, key: str | None) -> ASGIApp:
    """An app over this provider. With a key, every question needs it; without one, everybody may ask."""
    door = _Door(provider, key)
    return Starlette(
        routes=[
            Route("/", door.about),
            Route("/livez", door.livez),
            Route("/v3/poi", door.poi),
            Route("/v3/referencedata", door.referencedata),
        ]
    )


class _Door:
    """Endpoints. Those that work are plain functions, which run in a bounded pool of threads beside the event loop."""

    def __init__(self, provider: Provider, key: str | None) -> None:
        self._provider = provider
        self._key = key

    async def about(self, _request: Request) -> Response:
        return PlainTextResponse(
            f"This is a simulated provider with {len(self._provider)} invented or loaded places, made by Waypost.\n"
            "It speaks the Open Charge Map protocol: ask /v3/poi and /v3/referencedata.\n"
        )

    async def livez(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n")

    def poi(self, request: Request) -> Response:
        if not self._admits(request):
            return PlainTextResponse(_REFUSAL, status_code=403)
        query = read_query(request.query_params.multi_items())
        rows = self._provider.select(query)
        kilometres = self._provider.kilometres(rows, query.near) if query.near else None
        answer = body(self._provider.take(rows), kilometres, query)
        return Response(answer, media_type=MEDIA_TYPES[query.output])

    def referencedata(self, request: Request) -> Response:
        if not self._admits(request):
            return PlainTextResponse(_REFUSAL, status_code=403)
        return Response(self._provider.reference.encoded, media_type="application/json")

    def _admits(self, request: Request) -> bool:
        if not self._key:
            return True
        shown = request.headers.get("x-api-key") or Parameters(request.query_params.multi_items()).text("key")
        return hmac.compare_digest(shown.encode(), self._key.encode())
