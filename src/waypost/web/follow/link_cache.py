"""Links kept in memory, each with the bytes of its redirect."""

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
from waypost.web.http.encoded_headers import Head, new_head
from waypost.web.settings import RedirectSettings

_PLAIN = re.compile(rb"[A-Za-z0-9_-]+")
# Every character that an address may have unescaped, and the `%` of what is escaped already.
_SAFE = "%/:?#[]@!$&'()*+,;=-._~"


class CachedLink:
    """A link and the redirect to its target, found by one spelling of its phrase."""

    __slots__ = ("ends", "is_quick", "is_used_up", "link", "link_id", "tail")

    def __init__(self, link: Link, typed: bytes, settings: RedirectSettings) -> None:
        self.link = link
        # As it stands in a line of the spool.
        self.link_id = msgspec.json.encode(link.id)[1:-1]
        # The part of the answer that is the link's own, for the hot path; it has no other headers and no body.
        self.tail = redirect_head(link, link.target, settings).written + b"content-length: 0\r\n\r\n"
        self.ends = link.expires_at.timestamp() if link.expires_at else math.inf
        # Whether nothing except the link's end can keep a plain GET of this spelling from being redirected.
        self.is_quick = (
            link.password is None
            and link.max_visits is None
            and not (link.disabled or link.deleted)
            and _PLAIN.fullmatch(typed) is not None
        )
        # Set when the store refuses a visit beyond the limit; only an edit changes it.
        self.is_used_up = False


def redirect_head(link: Link, target: str, settings: RedirectSettings) -> Head:
    """The headers of a redirect, with the target escaped where a header could not carry it."""
    location = target if target.isascii() and target.isprintable() else quote(target, safe=_SAFE)
    # A browser may not keep the redirect of a link that ends by itself, or that asks for a password.
    may_stay = link.expires_at is None and link.max_visits is None and link.password is None
    age = settings.browser_cache if may_stay else 0
    return new_head(
        (b"location", location.encode()),
        (b"cache-control", b"private, max-age=%d" % age if age else b"no-store"),
        (b"referrer-policy", b"no-referrer-when-downgrade"),
        (b"x-robots-tag", b"noindex"),
    )


class LinkCache:
    """Links by what was typed: each spelling of a phrase has its own entry, so that finding one folds nothing."""

    def __init__(
        self, links: LinkStore, settings: RedirectSettings, public_url: str = "", blocked: frozenset[str] = frozenset()
    ) -> None:
        """`public_url` is where our own pages are; when empty, they are where links are followed. Links to `blocked`
        hosts count as disabled, even if they were made before the host was blocked.
        """
        self._links = links
        self._blocked = blocked
        self._public_url = public_url.rstrip("/")
        self._settings = settings
        lifetimes = Lifetimes(settings.fresh, settings.kept, settings.unknown)
        self._cache: Cache[bytes, CachedLink] = MemoryCache[bytes, CachedLink](
            self._load, lifetimes, most=settings.most
        )
        # Called for each redirect: this saves a call.
        self.hit = self._cache.hit

    async def find(self, phrase: str) -> CachedLink | None:
        """The link with this phrase, if any, even one that can no longer be followed."""
        return await self._cache.get(phrase.encode()) if is_phrase(phrase) else None

    def invalidate(self, phrase: str) -> None:
        """Call this whenever a link was made or changed: all spellings of its phrase are then read again."""
        self._cache.invalidate_tag(fold_phrase(phrase))

    async def block(self, hosts: frozenset[str]) -> None:
        """From now on, links to these hosts count as disabled, and no others; those in memory are read again."""
        changed, self._blocked = self._blocked ^ hosts, hosts
        await self._cache.invalidate_where(lambda known: is_blocked(known.link.target, changed))

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
