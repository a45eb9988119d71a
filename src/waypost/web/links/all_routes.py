"""All routes about links, but for following them."""

from fastapi import APIRouter

from waypost.web.http.guard import WriteGuard
from waypost.web.links.bulk import bulk_routes
from waypost.web.links.catalogue import catalogue_routes
from waypost.web.links.listing import listing_routes
from waypost.web.links.routes import link_routes
from waypost.web.links.sharing import Sharing
from waypost.web.links.statistics import statistics_routes


def all_link_routes(sharing: Sharing, guard: WriteGuard) -> list[APIRouter]:
    """The order counts: `bulk` is no phrase."""
    return [
        listing_routes(sharing, guard),
        bulk_routes(sharing, guard),
        link_routes(sharing, guard),
        statistics_routes(sharing, guard),
        catalogue_routes(sharing),
    ]
