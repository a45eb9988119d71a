"""Puts the routes of one role, or of several, together into one app."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp

from waypost import __version__
from waypost.serving.shelf import LiveGeneration
from waypost.web.bounds import Bounds
from waypost.web.guard import WriteGuard
from waypost.web.health import Probe, health_routes
from waypost.web.links import Sharing, link_routes, redirect_routes
from waypost.web.pages import Status, asset_routes, documentation_routes, landing_routes, status_routes
from waypost.web.places import place_routes
from waypost.web.problems import add_problem_handlers, describe_problems


@dataclass(frozen=True)
class Places:
    live: LiveGeneration
    most: int


def make_app(
    *,
    probes: Mapping[str, Probe],
    guard: WriteGuard,
    places: Places | None = None,
    sharing: Sharing | None = None,
    status: Status | None = None,
) -> ASGIApp:
    """`status` feeds the page with the map; without it there is no page."""
    app = FastAPI(title="Waypost", version=__version__, docs_url=None, redoc_url=None)
    add_problem_handlers(app)
    routers: list[APIRouter] = [
        health_routes(probes),
        landing_routes("Waypost", page=status is not None),
        documentation_routes(app),
    ]
    if status:
        routers.append(status_routes(status))
    routers.append(asset_routes(page=status is not None))
    if places:
        routers.append(place_routes(places.live, most=places.most))
    if sharing:
        # Last, because its route takes every single word that no other route has.
        routers += [link_routes(sharing, guard), redirect_routes(sharing)]
    for router in routers:
        app.include_router(router)
    describe_problems(app)
    return Bounds(app)
