"""Pages for people: the map with the form for links, short messages, and the list of routes."""

from collections.abc import Awaitable, Callable
from html import escape
from importlib import resources
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response

from waypost import __version__
from waypost.web.routing import readable

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_PAGE_HEADERS = {"Content-Security-Policy": _CSP, "Referrer-Policy": "same-origin", "Cache-Control": "no-cache"}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

_MESSAGE_ASSETS = {"message.css"}

Status = Callable[[], Awaitable[Any]]


def status_routes(status: Status) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    async def read_status() -> Response:
        body = msgspec.json.encode(await status())
        return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})

    readable(router, "/-/status", read_status)
    return router


def asset_routes(*, page: bool) -> APIRouter:
    """The page at /-/ and its assets, all of them from this package; without it, what short messages need."""
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
            return message_page(404, "No such page", "The map is at /-/" if page else "There are no pages here.")
        body, media_type = assets[name or "index.html"]
        return Response(body, media_type=media_type, headers=_PAGE_HEADERS)

    readable(router, "/-", without_slash)
    readable(router, "/-/{name:path}", asset)
    return router


def message_page(status: int, title: str, text: str) -> Response:
    return _page(status, title, f"<p>{escape(text)}</p>")


def landing_routes(title: str, *, page: bool) -> APIRouter:
    router = APIRouter(tags=["about"])

    async def landing(request: Request) -> Response:
        """Where things are; people with a browser are led to the page."""
        if page and "text/html" in request.headers.get("accept", ""):
            return Response(status_code=303, headers={"Location": "/-/", "Vary": "Accept"})
        links = [
            {"rel": "self", "type": "application/json", "title": "this document", "href": "/"},
            {
                "rel": "service-desc",
                "type": "application/json",
                "title": "the API's description",
                "href": "/openapi.json",
            },
            {"rel": "service-doc", "type": "text/html", "title": "the API's documentation", "href": "/docs"},
        ]
        body = {"title": title, "description": f"Waypost {__version__}", "links": links}
        return Response(msgspec.json.encode(body), media_type="application/json", headers={"Vary": "Accept"})

    readable(router, "/", landing)
    return router


def documentation_routes(app: FastAPI) -> APIRouter:
    """A documentation page made here: FastAPI's own would load scripts from elsewhere."""
    router = APIRouter(include_in_schema=False)

    async def docs() -> Response:
        operations = [
            (method.upper(), path, operation.get("description", ""))
            for path, methods in app.openapi()["paths"].items()
            for method, operation in methods.items()
        ]
        rows = "".join(
            f"<dt><code>{escape(method)} {escape(path)}</code></dt><dd>{escape(text)}</dd>"
            for method, path, text in operations
        )
        return _page(200, "The API", f'<p>As OpenAPI: <a href="/openapi.json">/openapi.json</a></p><dl>{rows}</dl>')

    readable(router, "/docs", docs)
    return router


def _page(status: int, title: str, body: str) -> Response:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)} · Waypost</title><link rel="stylesheet" href="/-/message.css"></head>'
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    return Response(
        text, status_code=status, media_type="text/html", headers=_PAGE_HEADERS | {"Cache-Control": "no-store"}
    )
