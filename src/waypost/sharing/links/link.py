"""A link: its fields as they are kept, asked for, changed and shown."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waypost.kernel.errors import Conflict, NotFound
from waypost.sharing.links.terms import (
    LONGEST_PASSWORD,
    LONGEST_PLACE_ID,
    LONGEST_TAG,
    LONGEST_TARGET,
    LONGEST_TITLE,
    MOST_TAGS,
    MOST_VISITS,
)
from waypost.sharing.phrases.formats import Format

Target = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_TARGET, description="where it leads", examples=["https://example.org/"])
]
Phrase = Annotated[str, Meta(max_length=200, description="drawn when left out", examples=["summer-party"])]
Title = Annotated[
    str, Meta(max_length=LONGEST_TITLE, description="for its owner, and for the page that shows where it leads")
]
Tag = Annotated[str, Meta(min_length=1, max_length=LONGEST_TAG)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=MOST_TAGS, description="to list links by")]
Moment = Annotated[datetime, Meta(tz=True, description="when it ends, with an offset from UTC")]
MaxVisits = Annotated[int, Meta(ge=1, le=MOST_VISITS, description="it leads there this many times, and no more")]
Password = Annotated[str, Meta(min_length=1, max_length=LONGEST_PASSWORD, description="visitors are asked for this")]


class PhraseTaken(Conflict):
    """Another link has this phrase, or a phrase that reads or looks the same."""

    @classmethod
    def of(cls, link: "Link") -> "PhraseTaken":
        return cls(f"the phrase {link.phrase!r} is taken, or one that looks like it; choose another one")


class UnknownLink(NotFound):
    """No link has this phrase."""


class AlreadyMade(Conflict):
    """The same Idempotency-Key has made a link already."""

    def __init__(self, link: "Link") -> None:
        super().__init__("this Idempotency-Key has made a link already; use a new key for another link")
        self.link = link


class LinkChanged(Conflict):
    """Somebody else edited the link at the same moment."""

    @classmethod
    def of(cls, link: "Link") -> "LinkChanged":
        return cls(f"somebody else has changed {link.phrase!r} in the meantime; look at it and try again")


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """`version` grows by one with each edit. A deleted link is kept, so that its phrase is never given out again."""

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
    # The id of the key it was made with, or "local"; None if nobody owns it, and its edit token alone can change it.
    owner: str | None = None
    # A hash of the request that made it with an Idempotency-Key, to tell a repetition from a different request.
    asked: str | None = None
    disabled: bool = False
    deleted: bool = False

    def is_over(self, now: datetime) -> bool:
        """Whether it no longer leads anywhere; the limit of visits is checked elsewhere."""
        return self.disabled or self.deleted or (self.expires_at is not None and self.expires_at <= now)


class NewLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to make. Fields that are left out, or null, follow the settings."""

    target: Target
    phrase: Phrase | None = None
    language: Annotated[str, Meta(max_length=40, description="of a drawn phrase; see /v1/languages")] | None = None
    theme: Annotated[str, Meta(max_length=40, description='of a drawn phrase; see /v1/themes; "" for none')] | None = (
        None
    )
    format: Format | None = None
    title: Title | None = ""
    tags: Tags | None = ()
    expires_at: Moment | None = None
    max_visits: MaxVisits | None = None
    password: Password | None = None
    forward_query: (
        Annotated[bool, Meta(description="whether the visitor's query is passed on to the target")] | None
    ) = False
    place_id: Annotated[str, Meta(max_length=LONGEST_PLACE_ID, description="the place it is about")] | None = None
    reuse: (
        Annotated[bool, Meta(description="whether your own link to the same target will do, if there is one")] | None
    ) = False


class Changes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change about a link; fields that are left out stay, and null clears."""

    target: Target | UnsetType = UNSET
    title: Title | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    expires_at: Moment | UnsetType | None = UNSET
    max_visits: MaxVisits | UnsetType | None = UNSET
    password: Password | UnsetType | None = UNSET
    forward_query: bool | UnsetType | None = UNSET
    disabled: Annotated[bool, Meta(description="a disabled link leads nowhere, at once")] | UnsetType = UNSET


class LinkDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A link. `visits` counts those by people. `owner` is the id of the key that it was made with, `local` for one that
    was made on this machine without a key, and null for one that nobody owns.
    """

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
    owner: str | None
    # Shown once, to a caller who makes a link without a key.
    edit_token: str | UnsetType = UNSET


class LinkState(msgspec.Struct, frozen=True, kw_only=True):
    """What can change about a link, as it was at some moment."""

    target: str
    title: str
    tags: Sequence[str]
    expires_at: datetime | None
    max_visits: int | None
    protected: bool
    forward_query: bool
    place_id: str | None
    disabled: bool
    deleted: bool


# The values a link has by default.
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Link) if not field.required}
# The fields of a new link that are kept as they were given.
TERMS = tuple(name for name in NewLink.__struct_fields__ if name in _DEFAULTS and name != "password")


def with_defaults(said: Mapping[str, Any]) -> dict[str, Any]:
    """Replaces each None with the link's default."""
    return {name: _DEFAULTS.get(name) if value is None else value for name, value in said.items()}
