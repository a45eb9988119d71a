"""Looking at a link without following it: a page that says where it leads."""

from fastapi import APIRouter, Response

from waypost.kernel.clock import utc_now
from waypost.kernel.errors import TransientError
from waypost.sharing.links.link import Link
from waypost.web.follow import html_pages
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.routing import readable

REFUSALS = html_pages.described(
    {404: "No such link", 410: "The link has ended", 503: "The link cannot be looked up now"}
)


def preview_routes(parts: FollowParts) -> APIRouter:
    router = APIRouter(tags=["redirect"])

    async def preview(phrase: str) -> Response:
        """A page that says where the link leads. This is not a visit."""
        found = await find_to_look_at(parts, phrase)
        return found if isinstance(found, Response) else html_pages.preview(found)

    answers = html_pages.described({200: "The page"}) | REFUSALS
    readable(router, "/{phrase}+", preview, name="preview", responses=answers)
    return router


async def find_to_look_at(parts: FollowParts, phrase: str) -> Link | Response:
    """Returns the link, or the page that says why there is nothing to look at."""
    try:
        known = await parts.cache.find(phrase)
        if known is None:
            return html_pages.unknown()
        link = known.link
        if link.is_over(utc_now()):
            return html_pages.ended()
        if link.max_visits is not None and await parts.links.taken(link.id) >= link.max_visits:
            return html_pages.used_up()
    except TransientError:
        return html_pages.away()
    return link
