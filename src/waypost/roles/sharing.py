"""Links for the command line: made, looked at and changed straight in the store."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from waypost.access.caller import LOCAL
from waypost.bootstrap.stores import Stores, open_stores, refuse_without_links
from waypost.kernel.clock import utc_now
from waypost.roles.authoring import make_author, target_rules
from waypost.roles.serve import ADDRESS
from waypost.settings import Settings
from waypost.sharing.links import editing
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.link import Link, UnknownLink
from waypost.sharing.links.store import Position, Wanted
from waypost.sharing.phrases.matching import is_phrase, phrase_in
from waypost.sharing.visits.statistics import Asked, count_visits
from waypost.web.links import documents
from waypost.web.links.documents import LinkDocument
from waypost.web.links.statistics import StatisticsDocument, show_statistics

_AT_A_TIME = 1000


async def create_link(settings: Settings, draft: Draft) -> LinkDocument:
    refuse_without_links(settings)
    async with open_stores(settings) as stores:
        made = await make_author(settings, stores, block=1).make(draft, LOCAL.name)
        return await _show(settings, stores, made.link)


async def show_link(settings: Settings, phrase: str) -> LinkDocument:
    async with _link(settings, phrase) as (stores, link):
        return await _show(settings, stores, link)


async def edit_link(settings: Settings, phrase: str, changes: editing.Changes) -> LinkDocument:
    async with _link(settings, phrase) as (stores, link):
        changed = await editing.edit(stores.links, target_rules(settings), link, changes, LOCAL.name)
        return await _show(settings, stores, changed)


async def delete_link(settings: Settings, phrase: str) -> LinkDocument:
    async with _link(settings, phrase) as (stores, link):
        return await _show(settings, stores, await editing.delete(stores.links, link, LOCAL.name))


async def link_statistics(settings: Settings, phrase: str, **asked: Any) -> StatisticsDocument:
    """`asked` is what `Asked` takes, but for what only the link and the clock know."""
    async with _link(settings, phrase) as (stores, link):
        whole = Asked(created_at=link.created_at, now=utc_now(), **asked)
        return show_statistics(link, whole, await count_visits(stores.visits, link.id, whole))


async def list_links(settings: Settings, wanted: Wanted, limit: int) -> Sequence[LinkDocument]:
    found: list[LinkDocument] = []
    async with aclosing(read_links(settings, wanted)) as pages:
        async for page in pages:
            found += page[: limit - len(found)]
            if len(found) == limit:
                break
    return found


async def read_links(settings: Settings, wanted: Wanted) -> AsyncGenerator[Sequence[LinkDocument], None]:
    """All that are wanted, newest first, a batch at a time."""
    refuse_without_links(settings)
    async with open_stores(settings, must_exist=True) as stores:
        base_url = await _base_url(settings, stores)
        after: Position | None = None
        while True:
            page = await stores.links.page(wanted, after, _AT_A_TIME)
            visits = await stores.visits.count([link.id for link in page.links])
            yield [documents.show_link(link, base_url, visits.get(link.id, 0)) for link in page.links]
            if page.next is None:
                return
            after = page.next


@asynccontextmanager
async def _link(settings: Settings, phrase: str) -> AsyncIterator[tuple[Stores, Link]]:
    """`phrase` may also be the whole link, as people copy it."""
    words = phrase_in(phrase)
    refuse_without_links(settings)
    async with open_stores(settings, must_exist=True) as stores:
        link = await stores.links.find(words) if is_phrase(words) else None
        if link is None or link.deleted:
            raise UnknownLink(f"no link has the phrase {words[:80]!r}", next_step="waypost link create https://…")
        yield stores, link


async def _show(settings: Settings, stores: Stores, link: Link) -> LinkDocument:
    visits = await stores.visits.count([link.id])
    return documents.show_link(link, await _base_url(settings, stores), visits.get(link.id, 0))


async def _base_url(settings: Settings, stores: Stores) -> str:
    """The address people use, else the one that last served this store, else the one that would."""
    last_served = await stores.facts.get(ADDRESS)
    return settings.web.public_url or last_served or f"http://{settings.web.host}:{settings.web.port}"
