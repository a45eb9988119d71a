"""A link: a phrase that leads to a target."""

from datetime import datetime
from urllib.parse import quote

import msgspec

from waypost.kernel.errors import Conflict, NotFound
from waypost.sharing.phrases.formats import Format


class PhraseTaken(Conflict):
    """Another link has this phrase, or one that reads the same."""

    slug = "phrase-taken"


class UnknownLink(NotFound):
    """No link has this phrase."""

    slug = "unknown-link"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    phrase: str
    target: str
    language: str | None
    theme: str | None
    format: Format
    created_at: datetime
    expires_at: datetime | None = None
    disabled: bool = False


class LinkView(msgspec.Struct, frozen=True, kw_only=True):
    """A link as people and scripts see it."""

    id: str
    phrase: str
    url: str
    target: str
    language: str | None
    theme: str | None
    format: Format
    created_at: datetime
    expires_at: datetime | None
    visits: int
    disabled: bool


def view(link: Link, *, base_url: str, visits: int) -> LinkView:
    return LinkView(
        id=link.id,
        phrase=link.phrase,
        url=f"{base_url.rstrip('/')}/{quote(link.phrase)}",
        target=link.target,
        language=link.language,
        theme=link.theme,
        format=link.format,
        created_at=link.created_at,
        expires_at=link.expires_at,
        visits=visits,
        disabled=link.disabled,
    )
