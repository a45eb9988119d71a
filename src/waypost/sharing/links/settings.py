"""The settings for links."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_share, parse_switch
from waypost.sharing.links.hosts import BadHost, read_host
from waypost.sharing.phrases.formats import FORMATS, Format

# These run in the visitor's browser under our name, or show the visitor's own files.
_NEVER = frozenset({"javascript", "data", "vbscript", "blob", "filesystem", "file", "about", "view-source"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII)


def _read_format(text: str) -> Format:
    for known in FORMATS:
        if text == known:
            return known
    raise ValueError(f"{text[:40]!r} is not a format; choose one of {', '.join(FORMATS)}")


def _read_theme(text: str) -> str | None:
    return text.strip() or None


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read_hosts(text: str) -> frozenset[str]:
    try:
        return frozenset(str(read_host(f"[{part}]" if part.count(":") > 1 else part)) for part in _words(text))
    except BadHost as error:
        raise ValueError(f"one of {text[:80]!r} {error}; write names like go.example.org, without a port") from None


def _read_schemes(text: str) -> frozenset[str]:
    schemes = frozenset(part.lower().removesuffix(":") for part in _words(text))
    for scheme in sorted(schemes):
        if not _SCHEME.fullmatch(scheme):
            raise ValueError(f"{scheme[:40]!r} is not a scheme; write them like mailto,tel")
        if scheme in _NEVER:
            raise ValueError(f"links never lead to {scheme}: it could do harm in a visitor's browser")
    return schemes


def _parse_home(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.hostname or not text.isascii() or " " in text):
        raise ValueError("this is not an address; write it like https://example.org/about-our-links")
    return text


@dataclass(frozen=True)
class SharingSettings:
    language: str = setting("links.language", "en", "the language that phrases are drawn in")
    theme: str | None = setting(
        "links.theme", "", "the theme that phrases are drawn from; all words when empty", _read_theme
    )
    format: Format = setting(
        "links.format", "kebab", "how phrases are written: kebab, pascal, snake or spaced", _read_format
    )
    vocabularies: str = setting("links.vocabularies", "", "folder of further vocabularies; empty means none")
    fill: float = setting(
        "links.fill", "1%", "share of a space's phrases that is given out before phrases get a word more", parse_share
    )
    hosts: frozenset[str] = setting(
        "links.hosts",
        "",
        "further host names by which links are reached, several with commas; no link leads to them",
        _read_hosts,
    )
    schemes: frozenset[str] = setting(
        "links.schemes", "", "what targets may begin with beside http and https, such as mailto,tel", _read_schemes
    )
    allow_private: bool = setting(
        "links.allow_private", "off", "whether links may lead to private networks and to this machine", parse_switch
    )
    resolve: bool = setting(
        "links.resolve",
        "off",
        "whether names in targets are looked up, so that none leads to a private one",
        parse_switch,
    )
    blocked_hosts: frozenset[str] = setting(
        "links.blocked_hosts",
        "",
        "hosts that links may not lead to, nor to any below them, several with commas",
        _read_hosts,
    )
    anonymous: bool = setting("links.anonymous", "off", "whether everybody may make links, without a key", parse_switch)
    home: str = setting(
        "links.home", "", "where / leads on a server that only redirects; a short page when empty", _parse_home
    )
