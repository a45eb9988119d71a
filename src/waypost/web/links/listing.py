"""Listing links: newest first, page after page, by text, tag, language, theme and time."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Request, Response

from waypost.sharing.links.document import show_links
from waypost.sharing.links.link import LinkDocument
from waypost.sharing.links.store import Position, Wanted
from waypost.sharing.links.terms import fold_tag
from waypost.sharing.visits.spans import from_us, to_us
from waypost.web.http import parameter_values
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.parameters import Parameter, Parameters
from waypost.web.http.routing import readable
from waypost.web.links import time_parameters
from waypost.web.links.openapi import SECURITY, gives, refuses
from waypost.web.links.route_dependencies import LinkParts

MOST = 1000
_DEFAULT = 100
# When the last link of a page was made, in microseconds, and its id.
_CURSOR = re.compile(r"(-?[0-9]{1,16}|[0-9]{17})\.([0-9a-z-]{1,64})", re.ASCII)


class LinkList(msgspec.Struct, frozen=True):
    """`next` is the whole address of the next page; null after the last."""

    links: Sequence[LinkDocument]
    next: str | None


def _text(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("write something that can be read, without control characters")
    return text.strip()


def _position(text: str) -> Position:
    found = _CURSOR.fullmatch(text)
    if not found:
        raise ValueError("take it from `next` of the page before")
    return Position(from_us(int(found[1])), found[2])


_SHORT = {"type": "string", "minLength": 1, "maxLength": parameter_values.LONGEST_VALUE}
_TAKEN = Parameters(
    Parameter("q", "found in phrase, title or target; case does not count", _SHORT, _text),
    Parameter("tag", "links with this tag", _SHORT, lambda text: fold_tag(_text(text))),
    Parameter("language", "links whose phrase was drawn in this language", _SHORT, _text),
    Parameter("theme", "links whose phrase was drawn from this theme", _SHORT, _text),
    Parameter("from", "links made from this moment on", time_parameters.FROM.schema, time_parameters.moment),
    Parameter("to", "links made before this moment", time_parameters.TO.schema, time_parameters.moment),
    Parameter(
        "limit",
        "most links to return",
        {"type": "integer", "minimum": 1, "maximum": MOST, "default": _DEFAULT},
        parameter_values.whole(1, MOST),
    ),
    Parameter(
        "cursor",
        "where the page begins; take it from `next`",
        {"type": "string", "pattern": f"^{_CURSOR.pattern}$"},
        _position,
    ),
)


def listing_routes(parts: LinkParts, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["links"])

    async def list_links(request: Request) -> Response:
        """Links, newest first: those of the key; with the scope admin, or on this machine without a key, all."""
        asker = await guard(request)
        asker.needs("links:read")
        values = _TAKEN.read(request.scope["query_string"])
        time_parameters.check_order(values)
        wanted = _wanted(values, None if asker.caller.is_admin else asker.caller.owner)
        page = await parts.links.page(wanted, values.get("cursor"), values.get("limit", _DEFAULT))
        base = parts.follow.base_url(request)
        links = await show_links(parts.visits, page.links, base)
        following = f"{base}/v1/links?{_query(request, page.next)}" if page.next else None
        headers = {"Cache-Control": "no-store"} | ({"Link": f'<{following}>; rel="next"'} if following else {})
        return Response(msgspec.json.encode(LinkList(links, following)), media_type="application/json", headers=headers)

    readable(
        router,
        "/v1/links",
        list_links,
        responses={
            200: gives("A page of links", LinkList, Link="the next page, where there is one"),
            400: refuses("bad-parameter", "key-in-address", "several-keys"),
            401: refuses("key-refused"),
            403: refuses("loopback-only", "scope-missing"),
        },
        openapi_extra={"parameters": _TAKEN.described(), "security": SECURITY},
    )
    return router


def _wanted(values: dict[str, Any], owner: str | None) -> Wanted:
    return Wanted(
        text=values.get("q"),
        tag=values.get("tag"),
        language=values.get("language"),
        theme=values.get("theme"),
        created_from=values.get("from"),
        created_to=values.get("to"),
        owner=owner,
    )


def _query(request: Request, position: Position) -> str:
    asked = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
    return urlencode([*asked, ("cursor", f"{to_us(position.created_at)}.{position.id}")])
