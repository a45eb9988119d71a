"""All routes about links, except for following them."""

from fastapi import APIRouter

from waypost.web.http.authentication import WriteGuard
from waypost.web.links.blocklist_routes import block_routes
from waypost.web.links.bulk_creating import bulk_routes
from waypost.web.links.history_erasing import erasing_routes
from waypost.web.links.listing import listing_routes
from waypost.web.links.phrase_catalogue import catalogue_routes
from waypost.web.links.report_answering import report_answering_routes
from waypost.web.links.route_dependencies import LinkParts
from waypost.web.links.single_link_routes import link_routes
from waypost.web.links.visits_and_history import visits_and_history_routes


def all_link_routes(parts: LinkParts, guard: WriteGuard) -> list[APIRouter]:
    """The order matters: `bulk` is not a phrase."""
    return [
        listing_routes(parts, guard),
        bulk_routes(parts, guard),
        link_routes(parts, guard),
        visits_and_history_routes(parts, guard),
        erasing_routes(parts, guard),
        catalogue_routes(parts),
        report_answering_routes(parts, guard),
        block_routes(parts, guard),
    ]
