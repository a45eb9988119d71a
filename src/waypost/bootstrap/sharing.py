"""What making and showing links takes from the settings."""

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from waypost.adapters.dns.system_names import SystemNames
from waypost.bootstrap.databases import extra
from waypost.bootstrap.stores import SharingStores
from waypost.kernel.configuration import SettingError
from waypost.settings import Settings
from waypost.sharing.blocks.live import LiveBlocks
from waypost.sharing.links.author import Author
from waypost.sharing.links.erasing import Eraser
from waypost.sharing.links.operations import LinkOperations
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.phrases.drawing import Drawing
from waypost.sharing.phrases.language import UnknownTheme
from waypost.sharing.phrases.vocabulary import UnknownLanguage, Vocabularies
from waypost.sharing.visits.spool_erasing import erase_from_spool
from waypost.sharing.visits.visitors import Countries

# The fact that says where the store was last served.
ADDRESS = "address"


def target_rules(settings: Settings) -> TargetRules:
    own = (urlsplit(settings.web.public_url).hostname or "", settings.web.host)
    return TargetRules.of(settings.sharing, own, SystemNames() if settings.sharing.resolve else None)


def read_vocabularies(settings: Settings) -> Vocabularies:
    return Vocabularies(Path(settings.sharing.vocabularies) if settings.sharing.vocabularies else None)


async def read_blocks(settings: Settings, stores: SharingStores) -> LiveBlocks:
    """Hosts and words that are blocked now, for a command."""
    blocks = LiveBlocks(stores.blocks, settings.sharing.blocked_hosts)
    await blocks.look()
    return blocks


def make_author(
    settings: Settings,
    stores: SharingStores,
    *,
    block: int,
    vocabularies: Vocabularies | None = None,
    blocks: LiveBlocks | None = None,
) -> Author:
    """`block` is how many phrases it reserves at a time: what is left of them when it ends is never drawn.

    Without `blocks`, only the hosts in the settings are blocked.

    Raises SettingError when there are no phrases of the language or the theme that are set.
    """
    words = vocabularies or read_vocabularies(settings)
    _refuse_unknown(settings, words)
    drawing = Drawing(stores.spaces, words, block=block, fill=settings.sharing.fill)
    blocks = blocks or LiveBlocks(stores.blocks, settings.sharing.blocked_hosts)
    return Author(stores.links, drawing, target_rules(settings), settings.sharing, blocks)


def make_eraser(settings: Settings, stores: SharingStores) -> Eraser:
    return Eraser(stores.links, stores.visits, stores.reports, partial(erase_from_spool, settings.spool))


async def link_operations(settings: Settings, stores: SharingStores) -> LinkOperations:
    """Links begin with the address people use, else the one that last served this store, else the one that would."""
    last_served = await stores.facts.get(ADDRESS)
    base_url = settings.web.public_url or last_served or f"http://{settings.web.host}:{settings.web.port}"
    return LinkOperations(stores.links, stores.visits, base_url)


def _refuse_unknown(settings: Settings, words: Vocabularies) -> None:
    """Checks the settings at the start: later, the caller who asks for a link would be blamed for them."""
    try:
        words.vocabulary(settings.sharing.language, settings.sharing.theme)
    except (UnknownLanguage, UnknownTheme) as error:
        name = f"links.{error.parameter}"
        raise SettingError(f"{name} ({settings.found[name].origin}): {error}", parameter=name) from None


def open_countries(path: str) -> Countries | None:
    """What knows which country an address is in, if a file for that is configured."""
    if not path:
        return None
    with extra("countries"):
        from waypost.adapters.maxmind.countries import MaxMindCountries
    return MaxMindCountries(Path(path))
