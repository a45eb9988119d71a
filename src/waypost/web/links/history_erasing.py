"""Erasing what has happened to a link, over HTTP."""

from fastapi import APIRouter, Request, Response
from msgspec import json

from waypost.sharing.links.erasing import ErasedLink
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.concurrency_limit import ConcurrencyLimit
from waypost.web.http.parameters import Parameters
from waypost.web.links.link_access import find_link
from waypost.web.links.openapi import EDIT_TOKEN, SECURITY, Phrase, gives, refuses
from waypost.web.links.route_dependencies import LinkParts

_NO_PARAMETERS = Parameters()
# Each may delete millions of rows.
_AT_ONCE, _WAITING = 1, 10


def erasing_routes(parts: LinkParts, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["links"])
    few = ConcurrencyLimit(_AT_ONCE, waiting=_WAITING)

    async def erase(request: Request, phrase: Phrase) -> Response:
        """Erase all visits of a link of yours so far, what was counted of them, and its history, for good.

        The link itself stays as it is. One that you deleted is found too, and loses its target, title and tags as well.
        """
        asker = await guard(request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        link = await find_link(parts, asker, phrase, "links:write", deleted_too=True)
        try:
            async with few:
                erased = await parts.eraser.erase(link, is_admin=asker.caller.is_admin)
        finally:
            parts.cache.invalidate(link.phrase)
        return Response(json.encode(erased), media_type="application/json", headers={"Cache-Control": "no-store"})

    router.add_api_route(
        "/v1/links/{phrase}/erase",
        erase,
        methods=["POST"],
        name="erase_link",
        response_class=Response,
        responses={
            200: gives("Erased", ErasedLink),
            400: refuses("bad-parameter", "key-in-address", "several-keys"),
            401: refuses("key-refused"),
            403: refuses("loopback-only", "scope-missing"),
            404: refuses("unknown-link"),
            409: refuses("reports-open", "link-changed"),
            429: refuses("too-many-at-once"),
        },
        openapi_extra={"parameters": [EDIT_TOKEN], "security": SECURITY},
    )
    return router
