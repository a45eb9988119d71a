"""Puts the routes of one role, or of several, together into one app."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI

from waypost import __version__
from waypost.serving.shelf import LiveGeneration
from waypost.web.follow.abuse_reports import report_routes
from waypost.web.follow.hot_path import RedirectPath
from waypost.web.follow.preview import preview_routes
from waypost.web.follow.qr_codes import qr_code_routes
from waypost.web.follow.redirect import redirect_routes
from waypost.web.follow.robots_and_home import home_page_routes, robots_routes
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.health import Probe, health_routes
from waypost.web.http.middleware import Bounds
from waypost.web.http.problems import add_problem_handlers
from waypost.web.http.routing import WithoutSlash
from waypost.web.links.all_routes import all_link_routes
from waypost.web.links.place_links import place_link_routes
from waypost.web.links.route_dependencies import LinkParts
from waypost.web.openapi_and_docs import describe, documentation_routes
from waypost.web.page_routes import Status, asset_routes, landing_routes, status_routes
from waypost.web.places.hot_path import HotPath
from waypost.web.places.place_access import PlacesGate
from waypost.web.places.place_answers import PlaceAnswers
from waypost.web.places.routes import Front


@dataclass(frozen=True)
class Places:
    """What the routes of places are made of; `cors` are the origins whose pages may read them.

    `closed`: only this machine and callers with a key may read them.
    """

    live: LiveGeneration
    most: int
    public_url: str = ""
    cors: tuple[str, ...] = ()
    closed: bool = False


class App(Bounds):
    """All routes within their bounds. A server may use the hot paths first; without them the answers are the same."""

    hot: HotPath | None = None
    redirects: RedirectPath | None = None


def make_app(
    *,
    probes: Mapping[str, Probe],
    guard: WriteGuard,
    places: Places | None = None,
    links: LinkParts | None = None,
    follow: FollowParts | None = None,
    status: Status | None = None,
) -> App:
    """`status` feeds the page with the map; without it there is no page. `follow` alone is a server of redirects."""
    app = FastAPI(
        title="Waypost", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    app.router.default = WithoutSlash(app.router)
    add_problem_handlers(app)
    gate = PlacesGate(guard) if places and places.closed else None
    front = Front(PlaceAnswers(places.live, most=places.most), places.public_url, gate) if places else None
    followed = follow or (links.follow if links else None)
    # The most requested routes come first: for each request, all routes before the one that matches are tried.
    routers: list[APIRouter] = all_link_routes(links, guard) if links else []
    routers.append(health_routes(probes))
    if follow:
        routers.append(home_page_routes(follow))
    else:
        routers += [landing_routes(front, page=status is not None), documentation_routes(app)]
    if status:
        routers.append(status_routes(status, gate))
    if followed:
        routers += [robots_routes(followed), report_routes(followed)]
    routers.append(asset_routes(page=status is not None))
    if links and places:
        # Before the places: an id may end in /link, too, and what only this route takes must say so.
        routers.append(place_link_routes(links, places.live, guard, gate))
    if front:
        routers.append(front.router())
    if followed:
        # Last, because these routes match every single word that no other route has.
        routers += [preview_routes(followed), qr_code_routes(followed), redirect_routes(followed)]
    for router in routers:
        app.include_router(router)
    describe(app)
    whole = App(app, places.cors if places else ())
    whole.hot = HotPath(front, whole) if front else None
    whole.redirects = RedirectPath(followed, whole) if followed else None
    return whole
