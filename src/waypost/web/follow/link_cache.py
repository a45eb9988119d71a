"""Links as they are followed: kept in memory, each with its redirect as it is written."""

import math
import re
from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from waypost.scaling.caching.cache import Cache, Lifetimes, Loaded
from waypost.scaling.caching.memory import MemoryCache
from waypost.sharing.links.link import Link
from waypost.sharing.links.store import LinkStore
from waypost.sharing.links.targets import is_blocked, is_own_page
from waypost.sharing.phrases.matching import fold_phrase, is_phrase
from waypost.web.http.heads import Head, new_head
from waypost.web.settings import RedirectSettings

_PLAIN = re.compile(rb"[A-Za-z0-9_-]+")
# All that an address may have in it unescaped, and what is escaped already.
_SAFE = "%/:?#[]@!$&'()*+,;=-._~"


class CachedLink:
    """A link, and what leads to its target; found by one spelling of its phrase."""

    __slots__ = ("ends", "is_quick", "is_used_up", "link", "link_id", "tail")

    def __init__(self, link: Link, typed: bytes, settings: RedirectSettings) -> None:
        self.link = link
        # As it stands in a line of the spool.
        self.link_id = msgspec.json.encode(link.id)[1:-1]
        # All of the answer that is the link's own, for the hot path; it has no other headers and no body.
        self.tail = redirect_head(link, link.target, settings).written + b"content-length: 0\r\n\r\n"
        self.ends = link.expires_at.timestamp() if link.expires_at else math.inf
        # Whether nothing but the time can be in the way of whoever asks for it like this.
        self.is_quick = (
            link.password is None
            and link.max_visits is None
            and not (link.disabled or link.deleted)
            and _PLAIN.fullmatch(typed) is not None
        )
        # Learned from the store by whoever comes too late; only an edit changes it.
        self.is_used_up = False


def redirect_head(link: Link, target: str, settings: RedirectSettings) -> Head:
    """The target as a header can carry it, whatever is in the store."""
    location = target if target.isascii() and target.isprintable() else quote(target, safe=_SAFE)
    # What ends by itself, or asks first, must be asked each time.
    may_stay = link.expires_at is None and link.max_visits is None and link.password is None
    age = settings.browser_cache if may_stay else 0
    return new_head(
        (b"location", location.encode()),
        (b"cache-control", b"private, max-age=%d" % age if age else b"no-store"),
        (b"referrer-policy", b"no-referrer-when-downgrade"),
        (b"x-robots-tag", b"noindex"),
    )


class LinkCache:
    """By what was typed: each spelling of a phrase is kept by itself, so that none has to be folded to be found."""

    def __init__(
        self, links: LinkStore, settings: RedirectSettings, public_url: str = "", blocked: frozenset[str] = frozenset()
    ) -> None:
        """`public_url` is where pages of our own are; without it, where links are followed. No link leads to hosts that
        are blocked, though it may have been made before they were.
        """
        self._links = links
        self._blocked = blocked
        self._public_url = public_url.rstrip("/")
        self._settings = settings
        lifetimes = Lifetimes(settings.fresh, settings.kept, settings.unknown)
        self._cache: Cache[bytes, CachedLink] = MemoryCache[bytes, CachedLink](
            self._load, lifetimes, most=settings.most
        )
        # Called for each redirect: one call less.
        self.hit = self._cache.hit

    async def find(self, phrase: str) -> CachedLink | None:
        """The link with this phrase, if any, whatever became of it."""
        return await self._cache.get(phrase.encode()) if is_phrase(phrase) else None

    def invalidate(self, phrase: str) -> None:
        """To be called whenever a link was made or changed: from now on it is read again, in whatever spelling."""
        self._cache.invalidate_tag(fold_phrase(phrase))

    async def _load(self, typed: Sequence[bytes]) -> list[Loaded[CachedLink]]:
        phrases = [each.decode() for each in typed]
        found = await self._links.find_many(phrases)
        return [
            Loaded(self._known(link, each) if link else None, (fold_phrase(phrase),))
            for each, phrase, link in zip(typed, phrases, found, strict=True)
        ]

    def _known(self, link: Link, typed: bytes) -> CachedLink:
        if is_own_page(link.target):
            link = msgspec.structs.replace(link, target=self._public_url + link.target)
        elif self._blocked and is_blocked(link.target, self._blocked):
            link = msgspec.structs.replace(link, disabled=True)
        return CachedLink(link, typed, self._settings)
