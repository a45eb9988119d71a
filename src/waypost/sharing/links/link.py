"""A link: a phrase that leads to a target."""

from datetime import datetime

import msgspec

from waypost.kernel.errors import Conflict, NotFound
from waypost.sharing.phrases.formats import Format


class PhraseTaken(Conflict):
    """Another link has this phrase, or one that reads or looks the same."""

    slug = "phrase-taken"

    @classmethod
    def of(cls, link: "Link") -> "PhraseTaken":
        return cls(f"the phrase {link.phrase!r} is taken, or one that looks like it; choose another one")


class UnknownLink(NotFound):
    """No link has this phrase."""

    slug = "unknown-link"


class AlreadyMade(Conflict):
    """The same Idempotency-Key has made a link already."""

    slug = "already-made"

    def __init__(self, link: "Link") -> None:
        super().__init__("this Idempotency-Key has made a link already; use a new key for another link")
        self.link = link


class LinkChanged(Conflict):
    """Somebody else edited the link at the same moment."""

    slug = "link-changed"

    @classmethod
    def of(cls, link: "Link") -> "LinkChanged":
        return cls(f"somebody else has changed {link.phrase!r} in the meantime; look at it and try again")


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """`version` grows by one with each edit. What is deleted stays, so that its phrase is never given out again."""

    id: str
    phrase: str
    target: str
    language: str | None
    theme: str | None
    format: Format
    created_at: datetime
    updated_at: datetime
    version: int = 1
    title: str = ""
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    max_visits: int | None = None
    # An argon2 hash.
    password: str | None = None
    forward_query: bool = False
    place_id: str | None = None
    # The id of the key it was made with; none for one made without.
    owner: str | None = None
    # What was asked for when it was made with an Idempotency-Key, hashed; to tell a repetition from another request.
    asked: str | None = None
    disabled: bool = False
    deleted: bool = False

    def is_over(self, now: datetime) -> bool:
        """Whether it leads nowhere any more; a limit of visits is counted elsewhere."""
        return self.disabled or self.deleted or (self.expires_at is not None and self.expires_at <= now)
