"""Pages for people: what `/` answers, and the page with the map and the form for links, with its assets and status."""

from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from waypost.web.http.accept_headers import wants_html
from waypost.web.http.page_frame import POLICY, framed_page
from waypost.web.http.routing import readable
from waypost.web.places import ogc_documents, openapi
from waypost.web.places.answer import AnswerResponse
from waypost.web.places.parameters import FORM
from waypost.web.places.place_access import PlacesGate
from waypost.web.places.routes import Front

_PAGE_HEADERS = POLICY | {"Cache-Control": "no-cache"}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

_MESSAGE_ASSETS = {"message.css"}

Status = Callable[[], Awaitable[Any]]


def landing_routes(places: Front | None, *, page: bool) -> APIRouter:
    router = APIRouter(tags=["about"])

    async def landing(request: Request) -> Response:
        """Where things are; people with a browser are led to the page."""
        asks_html = wants_html(request.headers.get("accept", "").encode("latin-1"))
        if page and asks_html and "f" not in request.query_params:
            return Response(status_code=303, headers={"Location": "/-/", "Vary": "Accept"})
        if places:
            return AnswerResponse(await places.answer(places.ogc.landing, request.scope))
        body = msgspec.json.encode(ogc_documents.about("", places=False))
        return Response(body, media_type="application/json", headers={"Vary": "Accept"})

    extra = {"parameters": [FORM.described()]} if places else None
    answers = openapi.answers(openapi.LANDING, tagged=False)
    if page:
        answers[303] = {"description": "To the page with the map, for people"}
    readable(router, "/", landing, responses=answers, openapi_extra=extra)
    return router


def status_routes(status: Status, gate: PlacesGate | None = None) -> APIRouter:
    """Where places are closed, how their import stands is too."""
    router = APIRouter(include_in_schema=False)

    async def read_status(request: Request) -> Response:
        if gate:
            await gate.check(request, "imports:read")
        body = msgspec.json.encode(await status())
        return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})

    readable(router, "/-/status", read_status)
    return router


def asset_routes(*, page: bool) -> APIRouter:
    """The page at /-/ and its assets, all from this package; without `page`, only what short messages need."""
    router = APIRouter(include_in_schema=False)
    assets = {
        file.name: (file.read_bytes(), _TYPES[file.name.rpartition(".")[2]])
        for file in resources.files(__package__).joinpath("static").iterdir()
        if page or file.name in _MESSAGE_ASSETS
    }

    async def without_slash() -> Response:
        return Response(status_code=308, headers={"Location": "/-/"})

    async def asset(name: str) -> Response:
        if (name or "index.html") not in assets:
            where = "The map is at /-/" if page else "There are no pages here."
            return framed_page(404, "No such page", f"<p>{where}</p>")
        body, media_type = assets[name or "index.html"]
        return Response(body, media_type=media_type, headers=_PAGE_HEADERS)

    readable(router, "/-", without_slash)
    readable(router, "/-/{name:path}", asset)
    return router
