"""Puts the routes of one role, or of several, together into one app."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI

from waypost import __version__
from waypost.serving.shelf import LiveGeneration
from waypost.web.bounds import Bounds
from waypost.web.description import describe
from waypost.web.guard import WriteGuard
from waypost.web.health import Probe, health_routes
from waypost.web.hot import HotPath
from waypost.web.landing import landing_routes
from waypost.web.links import Sharing, link_routes, redirect_routes
from waypost.web.pages import Status, asset_routes, documentation_routes, status_routes
from waypost.web.places.api import PlacesApi
from waypost.web.places.routes import Front
from waypost.web.problems import add_problem_handlers


@dataclass(frozen=True)
class Places:
    """What the routes of places are made of; `cors` are the origins whose pages may read them."""

    live: LiveGeneration
    most: int
    public_url: str = ""
    cors: tuple[str, ...] = ()


class App(Bounds):
    """All routes within their bounds. A server may use the hot path first; without it the answers are the same."""

    hot: HotPath | None = None


def make_app(
    *,
    probes: Mapping[str, Probe],
    guard: WriteGuard,
    places: Places | None = None,
    sharing: Sharing | None = None,
    status: Status | None = None,
) -> App:
    """`status` feeds the page with the map; without it there is no page."""
    app = FastAPI(title="Waypost", version=__version__, openapi_url=None, docs_url=None, redoc_url=None)
    front = Front(PlacesApi(places.live, most=places.most), places.public_url) if places else None
    add_problem_handlers(app)
    routers: list[APIRouter] = [
        health_routes(probes),
        landing_routes(front, page=status is not None),
        documentation_routes(app),
    ]
    if status:
        routers.append(status_routes(status))
    routers.append(asset_routes(page=status is not None))
    if front:
        routers.append(front.router())
    if sharing:
        # Last, because its route takes every single word that no other route has.
        routers += [link_routes(sharing, guard), redirect_routes(sharing)]
    for router in routers:
        app.include_router(router)
    describe(app)
    whole = App(app, places.cors if places else ())
    if front:
        whole.hot = HotPath(front, whole)
    return whole
