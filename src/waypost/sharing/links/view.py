"""A link as people and scripts see it."""

import re
from datetime import datetime
from urllib.parse import quote

import msgspec

from waypost.kernel.folding import slug
from waypost.sharing.links.link import Link
from waypost.sharing.phrases.formats import Format

_SEPARATORS = re.compile(r"[-_ ]+")


class LinkView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    phrase: str
    url: str
    target: str
    title: str
    tags: tuple[str, ...]
    language: str | None
    theme: str | None
    format: Format
    created_at: datetime
    updated_at: datetime
    version: int
    expires_at: datetime | None
    max_visits: int | None
    protected: bool
    forward_query: bool
    place_id: str | None
    visits: int
    disabled: bool


def path_of(phrase: str) -> str:
    """How a phrase stands in an address: as it is, or, where that would need percent signs, in ASCII with hyphens."""
    if phrase.isascii() and " " not in phrase:
        return quote(phrase)
    return slug(_SEPARATORS.sub(" ", phrase))


def view(link: Link, *, base_url: str, visits: int) -> LinkView:
    return LinkView(
        id=link.id,
        phrase=link.phrase,
        url=f"{base_url.rstrip('/')}/{path_of(link.phrase)}",
        target=link.target,
        title=link.title,
        tags=link.tags,
        language=link.language,
        theme=link.theme,
        format=link.format,
        created_at=link.created_at,
        updated_at=link.updated_at,
        version=link.version,
        expires_at=link.expires_at,
        max_visits=link.max_visits,
        protected=link.password is not None,
        forward_query=link.forward_query,
        place_id=link.place_id,
        visits=visits,
        disabled=link.disabled,
    )
