"""Links for the command line: made and looked up straight in the store."""

from waypost.bootstrap import Stores, open_stores, refuse_without_links
from waypost.roles.serving import ADDRESS
from waypost.settings import Settings
from waypost.sharing.links.author import Author
from waypost.sharing.links.link import LinkView, UnknownLink, view
from waypost.sharing.phrases.matching import is_phrase


async def create_link(settings: Settings, target: str, phrase: str | None) -> LinkView:
    refuse_without_links(settings)
    async with open_stores(settings) as stores:
        link = await Author(stores.links, settings.sharing.language, block=1).create(target, phrase)
        return view(link, base_url=await _base_url(settings, stores), visits=0)


async def show_link(settings: Settings, phrase: str) -> LinkView:
    """`phrase` may also be the whole link, as people copy it."""
    words = phrase.rstrip("/").rpartition("/")[2]
    refuse_without_links(settings)
    async with open_stores(settings, must_exist=True) as stores:
        link = await stores.links.find(words) if is_phrase(words) else None
        if link is None:
            raise UnknownLink(f"no link has the phrase {words[:80]!r}", next_step="waypost link create https://…")
        visits = await stores.visits.count(link.id)
        return view(link, base_url=await _base_url(settings, stores), visits=visits)


async def _base_url(settings: Settings, stores: Stores) -> str:
    """The address people use, else the one that last served this store, else the one that would."""
    last_served = await stores.facts.get(ADDRESS)
    return settings.web.public_url or last_served or f"http://{settings.web.host}:{settings.web.port}"
