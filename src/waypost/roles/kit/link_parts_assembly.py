"""Puts together what the routes of links need, from what was configured and opened."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from waypost.bootstrap.sharing import make_author, make_eraser, open_countries, read_vocabularies
from waypost.bootstrap.stores import SharingStores
from waypost.kernel.tasks import background
from waypost.settings import Settings
from waypost.sharing.blocks.live import LiveBlocks
from waypost.sharing.links.passwords import fits_password
from waypost.sharing.links.rights import open_edit_tokens
from waypost.sharing.reports.watching import keep_counting
from waypost.sharing.visits.counting import counting
from waypost.web.follow.link_cache import LinkCache
from waypost.web.follow.password_checking import PasswordChecker
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.proxies import Proxies
from waypost.web.links.route_dependencies import LinkParts

_PHRASES_AT_ONCE = 100


@asynccontextmanager
async def follow_parts(settings: Settings, stores: SharingStores) -> AsyncIterator[FollowParts]:
    """What following links needs; visits that are still in the spool at the end are shipped before it closes."""
    countries = open_countries(settings.visits.countries)
    cache = LinkCache(stores.links, settings.redirect, settings.web.public_url, settings.sharing.blocked_hosts)
    blocks = LiveBlocks(stores.blocks, settings.sharing.blocked_hosts, cache.block)
    await blocks.look()
    async with (
        counting(settings.visits, settings.spool, stores.facts, stores.visits, countries) as counted,
        background(keep_counting(stores.reports)),
        background(blocks.keep_looking()),
    ):
        yield FollowParts(
            links=stores.links,
            reports=stores.reports,
            blocks=blocks,
            cache=cache,
            observer=counted.observer,
            record=counted.shipper.record,
            record_line=counted.shipper.record_line,
            passwords=PasswordChecker(fits_password),
            settings=settings.redirect,
            proxies=Proxies(settings.web.proxies),
            public_url=settings.web.public_url,
            home=settings.sharing.home,
        )


@asynccontextmanager
async def link_parts(settings: Settings, stores: SharingStores) -> AsyncIterator[LinkParts]:
    """What all routes of links need."""
    async with follow_parts(settings, stores) as follow:
        vocabularies = read_vocabularies(settings)
        yield LinkParts(
            author=make_author(
                settings, stores, block=_PHRASES_AT_ONCE, vocabularies=vocabularies, blocks=follow.blocks
            ),
            links=stores.links,
            visits=stores.visits,
            vocabularies=vocabularies,
            edit_tokens=await open_edit_tokens(stores.facts),
            eraser=make_eraser(settings, stores),
            follow=follow,
        )
