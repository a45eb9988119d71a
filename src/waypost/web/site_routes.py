"""Routes for people: the map with the form for links, its assets, short messages, and the list of routes."""

from collections.abc import Awaitable, Callable
from html import escape
from importlib import resources
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Response

from waypost.web.http.page_frame import POLICY, framed
from waypost.web.http.routing import readable

_PAGE_HEADERS = POLICY | {"Cache-Control": "no-cache"}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

_MESSAGE_ASSETS = {"message.css"}

# As OGC API Features names it.
OPENAPI = "application/vnd.oai.openapi+json;version=3.0"

Status = Callable[[], Awaitable[Any]]


def status_routes(status: Status) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    async def read_status() -> Response:
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
            return message_page(404, "No such page", "The map is at /-/" if page else "There are no pages here.")
        body, media_type = assets[name or "index.html"]
        return Response(body, media_type=media_type, headers=_PAGE_HEADERS)

    readable(router, "/-", without_slash)
    readable(router, "/-/{name:path}", asset)
    return router


def message_page(status: int, title: str, text: str) -> Response:
    return _page(status, title, f"<p>{escape(text)}</p>")


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

    async def openapi() -> Response:
        return Response(msgspec.json.encode(app.openapi()), headers={"Content-Type": OPENAPI})

    readable(router, "/docs", docs)
    readable(router, "/openapi.json", openapi)
    return router


def _page(status: int, title: str, body: str) -> Response:
    return Response(
        framed(title, body), status_code=status, media_type="text/html", headers=POLICY | {"Cache-Control": "no-store"}
    )
