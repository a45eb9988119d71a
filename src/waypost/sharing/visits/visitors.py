"""What is kept about visitors: never the address, and nothing at all about those who ask not to be tracked.

On the redirect path, for each request that is answered with a redirect:

    shown = read_headers(headers)                       # once for headers that come again
    if method == "GET" and not shown.is_preview:
        shipper.record(observer.visit(link.id, now, address, shown))

Nothing in here waits. `headers` has names in lower case, as ASGI and the hot path have them; `address` is the client's,
as far as proxies can be trusted.
"""

import itertools
import re
import secrets
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from waypost.sharing.visits.agents import LONGEST_AGENT, is_preview
from waypost.sharing.visits.day_keys import DayKeys
from waypost.sharing.visits.visit import Visit

_LONGEST_REFERRER = 2048
_LONGEST_PATH = 256
_LONGEST_LANGUAGES = 64
_HASH_BYTES = 8
_MOST_KNOWN = 4096
_REFERRER_SCHEMES = ("http", "https", "android-app")
_HOST = re.compile(r"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z])")


class Countries(Protocol):
    """Tells an address's country as an ISO 3166-1 code; "" where it is not known."""

    def country(self, address: str) -> str: ...


class ShownByBrowser(msgspec.Struct, frozen=True):
    """What a browser shows of itself and of where it comes from."""

    agent: str = ""
    referrer_host: str = ""
    referrer_path: str = ""
    language: str = ""
    # It asks not to be tracked: Do Not Track, or Global Privacy Control.
    is_private: bool = False
    # No person looks at what it fetches, yet or ever: a message's link preview, or a browser that prefetches.
    is_preview: bool = False


def read_headers(headers: Mapping[bytes, bytes]) -> ShownByBrowser:
    agent = _text(headers.get(b"user-agent", b""), LONGEST_AGENT)
    preview = is_preview(agent) or _fetches_ahead(headers)
    if headers.get(b"dnt") == b"1" or headers.get(b"sec-gpc") == b"1":
        return ShownByBrowser(is_private=True, is_preview=preview)
    host, path = read_referrer(_text(headers.get(b"referer", b""), _LONGEST_REFERRER))
    language = read_language(_text(headers.get(b"accept-language", b""), _LONGEST_LANGUAGES))
    return ShownByBrowser(agent, host, path, language, is_preview=preview)


class Observer:
    """Makes visits from requests. Ids begin with this process's own prefix, so no other process makes the same."""

    def __init__(self, keys: DayKeys, countries: Countries | None = None) -> None:
        self._keys = keys
        self._country = lru_cache(_MOST_KNOWN)(countries.country) if countries else None
        self._prefix = f"{secrets.token_hex(8)}-"
        self._numbers = itertools.count()
        self._day = date.min
        self._key = b""

    def visit(self, link_id: str, at: datetime, address: str, shown: ShownByBrowser) -> Visit:
        """`at` is now, in UTC."""
        visit_id = f"{self._prefix}{next(self._numbers):x}"
        if shown.is_private:
            return Visit(visit_id, link_id, at)
        return Visit(
            visit_id,
            link_id,
            at,
            self._hash(at.date(), address, shown.agent),
            shown.referrer_host,
            shown.referrer_path,
            shown.agent,
            shown.language,
            self._country(address) if self._country else "",
        )

    def _hash(self, day: date, address: str, agent: str) -> str:
        if day != self._day:
            self._day, self._key = day, self._keys.of(day)
        return blake2b(f"{address}\n{agent}".encode(), digest_size=_HASH_BYTES, key=self._key).hexdigest()


@lru_cache(_MOST_KNOWN)
def read_referrer(text: str) -> tuple[str, str]:
    """Host and path of a referrer, without what may be secret in it: query, fragment, user and password."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return "", ""
    if parts.scheme not in _REFERRER_SCHEMES or not _HOST.fullmatch(host):
        return "", ""
    return host, parts.path[:_LONGEST_PATH]


@lru_cache(_MOST_KNOWN)
def read_language(text: str) -> str:
    """The language that is asked for first, without its country: `de` of `de-AT,en;q=0.5`."""
    found = _LANGUAGE.match(text)
    return found[1].lower() if found else ""


def _text(value: bytes, longest: int) -> str:
    """Decodes a header, which may have any bytes, without characters that cannot be printed: they could do harm."""
    text = value[:longest].decode("latin-1")
    return text if text.isprintable() else "".join(filter(str.isprintable, text))


def _fetches_ahead(headers: Mapping[bytes, bytes]) -> bool:
    return any(b"prefetch" in headers.get(name, b"").lower() for name in (b"sec-purpose", b"purpose", b"x-moz"))
