"""QR codes of links, drawn a few at a time and kept in memory."""

import asyncio
import hashlib
from functools import lru_cache
from io import BytesIO
from typing import Annotated, Any, Literal

import segno
from fastapi import APIRouter, Query, Request, Response

from waypost.sharing.links.document import path_of
from waypost.web.follow import html_pages
from waypost.web.follow.preview import REFUSALS, find_to_look_at
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.concurrency_limit import ConcurrencyLimit, TooManyAtOnce
from waypost.web.http.routing import readable

Form = Literal["svg", "png"]
_TYPES: dict[Form, str] = {"svg": "image/svg+xml", "png": "image/png"}
# Each is a few kilobytes, and takes some ten milliseconds to draw. Two at once would take twice as long.
_MOST_DRAWINGS = 512
_AT_ONCE, _WAITING = 1, 100
_REFUSALS = REFUSALS | html_pages.described({429: "Too many are drawn at once"})


def qr_code_routes(parts: FollowParts) -> APIRouter:
    router = APIRouter(tags=["redirect"])
    few = ConcurrencyLimit(_AT_ONCE, waiting=_WAITING)

    def drawn_as(form: Form) -> Any:
        async def draw(
            request: Request,
            phrase: str,
            scale: Annotated[int, Query(ge=1, le=20, description="pixels for each dot")] = 8,
            border: Annotated[int, Query(ge=0, le=10, description="blank dots around it; QR codes should have 4")] = 4,
        ) -> Response:
            """The link's QR code. Asking for it is not a visit."""
            found = await find_to_look_at(parts, phrase)
            if isinstance(found, Response):
                return found
            url = f"{parts.base_url(request)}/{path_of(found.phrase)}"
            try:
                async with few:
                    body = await asyncio.to_thread(_draw, url, form, scale, border)
            except TooManyAtOnce as error:
                return html_pages.too_many(error.retry_in)
            return _drawing(request, body, _TYPES[form])

        return draw

    for form, media_type in _TYPES.items():
        answers = {200: {"content": {media_type: {}}}, 304: {"description": "Your copy is current"}} | _REFUSALS
        readable(router, f"/{{phrase}}.{form}", drawn_as(form), name=form, responses=answers)
    return router


def _drawing(request: Request, body: bytes, media_type: str) -> Response:
    headers = {
        "ETag": f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"',
        # It may be kept, but the link may have ended meanwhile.
        "Cache-Control": "no-cache",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        "X-Robots-Tag": "noindex",
    }
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if known & {headers["ETag"], "*"}:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


@lru_cache(_MOST_DRAWINGS)
def _draw(url: str, form: Form, scale: int, border: int) -> bytes:
    drawing = BytesIO()
    segno.make(url, micro=False).save(drawing, kind=form, scale=scale, border=border, light="#fff")
    return drawing.getvalue()
