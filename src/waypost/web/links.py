"""Links over HTTP: make one, look at one, and follow one."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from waypost.kernel.clock import utc_now
from waypost.kernel.ids import new_id
from waypost.sharing.links.author import Author
from waypost.sharing.links.link import Link, UnknownLink, view
from waypost.sharing.links.store import LinkStore
from waypost.sharing.phrases.matching import is_phrase
from waypost.sharing.visits.visit import Visit, VisitStore
from waypost.telemetry.metrics import REDIRECTS
from waypost.web.guard import WriteGuard
from waypost.web.pages import message_page
from waypost.web.routing import readable


@dataclass(frozen=True)
class Sharing:
    """What the link routes are made of."""

    author: Author
    links: LinkStore
    visits: VisitStore
    record: Callable[[Visit], None]
    public_url: str


class NewLink(BaseModel):
    """A link to make."""

    model_config = ConfigDict(extra="forbid")
    target: str = Field(max_length=2048, examples=["https://example.org/"])
    phrase: str | None = Field(default=None, max_length=200, description="drawn when left out")


class LinkDocument(BaseModel):
    """A link."""

    id: str
    phrase: str
    url: str
    target: str
    language: str | None
    theme: str | None
    format: str
    created_at: datetime
    expires_at: datetime | None
    visits: int
    disabled: bool


def link_routes(sharing: Sharing, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["links"])

    @router.post("/v1/links", status_code=201, dependencies=[Depends(guard)], responses={201: {"model": LinkDocument}})
    async def create(request: Request, wanted: NewLink) -> Response:
        """Make a link. Without a key this is for this machine alone."""
        link = await sharing.author.create(wanted.target, wanted.phrase)
        answer = _show(request, sharing, link, visits=0, status=201)
        answer.headers["Location"] = f"/v1/links/{quote(link.phrase)}"
        return answer

    async def show(request: Request, phrase: str) -> Response:
        """A link, with the number of its visits."""
        link = await sharing.links.find(phrase) if is_phrase(phrase) else None
        if link is None:
            raise UnknownLink(f"no link has the phrase {phrase[:80]!r}")
        return _show(request, sharing, link, visits=await sharing.visits.count(link.id))

    readable(router, "/v1/links/{phrase}", show, responses={200: {"model": LinkDocument}})
    return router


def redirect_routes(sharing: Sharing) -> APIRouter:
    router = APIRouter(tags=["redirect"])

    async def follow(request: Request, phrase: str) -> Response:
        """Leads to the link's target. A GET is a visit, and is written down before it is answered."""
        link = await sharing.links.find(phrase) if is_phrase(phrase) else None
        now = utc_now()
        if link is None:
            REDIRECTS.labels("unknown").inc()
            return message_page(404, "No such link", "Check the words: a link looks like gently-golden-otter.")
        if link.disabled or (link.expires_at is not None and link.expires_at <= now):
            REDIRECTS.labels("gone").inc()
            return message_page(410, "This link has ended", "Ask whoever gave it to you for a new one.")
        if request.method == "GET":
            sharing.record(Visit(str(new_id()), link.id, now))
        REDIRECTS.labels("followed").inc()
        headers = {
            "Location": link.target,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer-when-downgrade",
        }
        return Response(status_code=302, headers=headers)

    page = {"content": {"text/html": {"schema": {"type": "string"}}}}
    pages = {404: {"description": "No such link"} | page, 410: {"description": "The link has ended"} | page}
    readable(router, "/{phrase}", follow, status_code=302, responses=pages)
    return router


def _show(request: Request, sharing: Sharing, link: Link, *, visits: int, status: int = 200) -> Response:
    base_url = sharing.public_url or str(request.base_url)
    body = msgspec.json.encode(view(link, base_url=base_url, visits=visits))
    return Response(body, status_code=status, media_type="application/json", headers={"Cache-Control": "no-store"})
