"""A link that somebody wants: what they said, and what becomes of it before it has a phrase."""

import hashlib
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from waypost.kernel.errors import Conflict
from waypost.kernel.ids import new_id
from waypost.sharing.links.link import Link
from waypost.sharing.links.settings import SharingSettings
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.links.terms import check_expires_at, check_max_visits, check_place_id, check_tags, check_title
from waypost.sharing.phrases.formats import Format
from waypost.sharing.phrases.matching import check_custom

# Ids of links that are made with an Idempotency-Key follow from it, so that a repetition meets the first.
_REPEATABLE = uuid.UUID("5f0e7f5c-7a3d-5b52-9d0c-6c1b2f6c3a11")


class IdempotencyKeyReused(Conflict):
    """The same Idempotency-Key came with another wish before, or its link is no more."""

    slug = "idempotency-key-reused"


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A wish. Language, theme and format are the settings' where it says nothing; a theme of "" is for none."""

    target: str
    phrase: str | None = None
    language: str | None = None
    theme: str | None = None
    format: Format | None = None
    title: str = ""
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    max_visits: int | None = None
    password: str | None = None
    forward_query: bool = False
    place_id: str | None = None
    # Whether the owner's own link to the same target will do.
    reuse: bool = False
    owner: str | None = None
    # The Idempotency-Key.
    idempotency: str | None = None

    @property
    def may_be_reused(self) -> bool:
        asks_for_more = (self.phrase, self.password, self.max_visits, self.expires_at)
        return self.reuse and all(each is None for each in asks_for_more)

    @property
    def link_id(self) -> str:
        if self.idempotency is None:
            return str(new_id())
        return str(uuid.uuid5(_REPEATABLE, f"{self.owner or ''}\n{self.idempotency}"))

    def asked(self) -> str | None:
        """By which a repetition is told from another wish with the same Idempotency-Key.

        Of a password it knows only that there is one: a quick hash of it would undo the slow one.
        """
        if self.idempotency is None:
            return None
        wish = msgspec.structs.replace(self, password=None if self.password is None else "***")
        return hashlib.blake2b(msgspec.json.encode(wish), digest_size=16).hexdigest()


class Made(msgspec.Struct, frozen=True):
    """A link, and how it came about: made now, by the same request before, or for another one."""

    link: Link
    how: Literal["new", "repeated", "reused"]


def prepare(draft: Draft, rules: TargetRules, settings: SharingSettings, now: datetime, *, inside: bool) -> Link:
    """The link as it will be, but for its password, and for its phrase if it is to be drawn.

    `inside` is for a target that is a page of our own, put together by us: it is not checked.
    """
    drawn = _drawn_from(draft, settings) if draft.phrase is None else {"language": None, "theme": None}
    return Link(
        id=draft.link_id,
        phrase="" if draft.phrase is None else check_custom(draft.phrase),
        target=draft.target if inside else rules.check(draft.target),
        format=draft.format or settings.format,
        created_at=now,
        updated_at=now,
        title=check_title(draft.title),
        tags=check_tags(draft.tags),
        expires_at=check_expires_at(draft.expires_at, now),
        max_visits=check_max_visits(draft.max_visits),
        forward_query=draft.forward_query,
        place_id=check_place_id(draft.place_id),
        owner=draft.owner,
        asked=draft.asked(),
        **drawn,
    )


def repeated(draft: Draft, link: Link) -> Made:
    """The link that this wish made before. Raises IdempotencyKeyReused when it was another wish, or is deleted."""
    if link.asked != draft.asked():
        raise IdempotencyKeyReused("this Idempotency-Key has made another link already; use a new one for each link")
    if link.deleted:
        raise IdempotencyKeyReused("this Idempotency-Key has made a link that was deleted since; use a new one")
    return Made(link, "repeated")


def _drawn_from(draft: Draft, settings: SharingSettings) -> Mapping[str, Any]:
    language = draft.language or settings.language
    # Another language may not have the theme that is set for ours.
    usual = settings.theme if language == settings.language else None
    return {"language": language, "theme": (usual if draft.theme is None else draft.theme) or None}
