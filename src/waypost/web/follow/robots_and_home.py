"""What a host of links answers besides links: robots.txt, and `/` where it serves nothing else."""

from fastapi import APIRouter, Response

from waypost.web.follow import html_pages
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.routing import readable

# Crawlers may fetch links although they should not list them: one that is kept out never sees the header that says so,
# and messengers that draw previews ask here first.
_ROBOTS = {
    "allow": "User-agent: *\nDisallow: /v1/\nDisallow: /-/\n",
    "deny": "User-agent: *\nDisallow: /\n",
}


def robots_routes(parts: FollowParts) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    async def robots() -> Response:
        return Response(_ROBOTS[parts.settings.robots], media_type="text/plain")

    readable(router, "/robots.txt", robots)
    return router


def home_page_routes(parts: FollowParts) -> APIRouter:
    """For a server that answers nothing but links."""
    router = APIRouter(include_in_schema=False)

    async def home() -> Response:
        if parts.home:
            return Response(status_code=302, headers={"Location": parts.home, "Cache-Control": "no-store"})
        return html_pages.message(404, "Links live here", "Add the words of one to the address.")

    readable(router, "/", home)
    return router
