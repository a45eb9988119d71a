"""All routes about links, except for following them."""

from fastapi import APIRouter

from waypost.web.http.guard import WriteGuard
from waypost.web.links.bulk import bulk_routes
from waypost.web.links.listing import listing_routes
from waypost.web.links.parts import LinkParts
from waypost.web.links.phrase_options import catalogue_routes
from waypost.web.links.routes import link_routes
from waypost.web.links.statistics import statistics_routes


def all_link_routes(parts: LinkParts, guard: WriteGuard) -> list[APIRouter]:
    """The order matters: `bulk` is not a phrase."""
    return [
        listing_routes(parts, guard),
        bulk_routes(parts, guard),
        link_routes(parts, guard),
        statistics_routes(parts, guard),
        catalogue_routes(parts),
    ]
