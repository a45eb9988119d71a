"""Routes for GET and HEAD, ids with slashes inside paths, and paths with a slash at the end."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Response
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import RedirectResponse
from starlette.routing import Match, Router
from starlette.types import Receive, Scope, Send


class _PlaceConvertor(PathConvertor):
    """Provider ids may have slashes, such as `node/240109189`, also at their ends."""

    regex = ".+"


register_url_convertor("place", _PlaceConvertor())


def readable(router: APIRouter, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
    """Adds a route for GET, and for HEAD without the body. Only GET is described: a second description with the same
    name would confuse generators of clients.
    """
    router.add_api_route(path, endpoint, methods=["GET"], response_class=Response, **more)
    router.add_api_route(
        path, endpoint, methods=["HEAD"], response_class=Response, **more | {"include_in_schema": False}
    )


def without_slash(scope: Scope) -> Response:
    """Leads to the same path without slashes at its end."""
    query = scope["query_string"].decode("latin-1")
    return RedirectResponse(quote(scope["path"].rstrip("/")) + (f"?{query}" if query else ""))


class WithoutSlash:
    """Redirects a path with a slash at its end to the one without, if there is a route.

    The framework would name a scheme and a host, which a proxy in front of us has changed.
    """

    def __init__(self, router: Router) -> None:
        self._router, self._otherwise = router, router.default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].rstrip("/")
        if scope["type"] == "http" and path != scope["path"] and self._is_known({**scope, "path": path}):
            await without_slash(scope)(scope, receive, send)
        else:
            await self._otherwise(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        # A path that begins with two slashes would be another host.
        is_ours = scope["path"].startswith("/") and not scope["path"].startswith("//")
        return is_ours and any(route.matches(scope)[0] is not Match.NONE for route in self._router.routes)
