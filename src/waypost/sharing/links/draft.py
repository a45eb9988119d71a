"""A link that a caller wants: what they asked for, and the link it becomes before it has a phrase."""

import hashlib
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

import msgspec

from waypost.access.caller import LOCAL
from waypost.kernel.errors import Conflict
from waypost.kernel.ids import new_id
from waypost.sharing.links.link import TERMS, Link, NewLink, with_defaults
from waypost.sharing.links.settings import SharingSettings
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.links.terms import check_terms
from waypost.sharing.phrases.matching import check_custom

# Links made with an Idempotency-Key get an id derived from it, so that a repetition finds the first link.
_REPEATABLE = uuid.UUID("5f0e7f5c-7a3d-5b52-9d0c-6c1b2f6c3a11")


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key came with a different request before, or its link was deleted."""


class Draft(NewLink, frozen=True, kw_only=True):
    """A link to make. Language, theme and format default to the settings; a theme of "" means none."""

    owner: str | None = LOCAL.owner
    # The Idempotency-Key.
    idempotency: str | None = None

    @classmethod
    def of(cls, wish: NewLink, owner: str | None, idempotency: str | None = None) -> Self:
        said = {name: value for name, value in msgspec.structs.asdict(wish).items() if value is not None}
        return cls(**said, owner=owner, idempotency=idempotency)

    @property
    def may_be_reused(self) -> bool:
        """Whether a link that is there may be given for it: never one that nobody owns, which a stranger can change."""
        asks_for_more = (self.phrase, self.password, self.max_visits, self.expires_at)
        return bool(self.reuse) and self.owner is not None and all(each is None for each in asks_for_more)

    @property
    def link_id(self) -> str:
        if self.idempotency is None:
            return str(new_id())
        return str(uuid.uuid5(_REPEATABLE, f"{self.owner or ''}\n{self.idempotency}"))

    def asked(self) -> str | None:
        """A hash of the request, which tells a repetition from a different request with the same Idempotency-Key.

        It covers only whether there is a password: a quick hash of the password would undo the slow one.
        """
        if self.idempotency is None:
            return None
        wish = msgspec.structs.replace(self, password=None if self.password is None else "***")
        return hashlib.blake2b(msgspec.json.encode(wish), digest_size=16).hexdigest()


class MadeLink(msgspec.Struct, frozen=True):
    """A link, and how it came about: made now, by the same request before, or by a different one."""

    link: Link
    how: Literal["new", "repeated", "reused"]


def prepare(draft: Draft, rules: TargetRules, settings: SharingSettings, now: datetime, *, inside: bool) -> Link:
    """Returns the link without its password, and without its phrase if that is to be drawn.

    `inside` means that the target is a page of our own, built by us: it is not checked.
    """
    drawn = _drawn_from(draft, settings) if draft.phrase is None else {"language": None, "theme": None}
    return Link(
        id=draft.link_id,
        phrase="" if draft.phrase is None else check_custom(draft.phrase),
        target=draft.target if inside else rules.check(draft.target),
        format=draft.format or settings.format,
        created_at=now,
        updated_at=now,
        **check_terms(with_defaults({name: getattr(draft, name) for name in TERMS}), now),
        owner=draft.owner,
        asked=draft.asked(),
        **drawn,
    )


def repeated(draft: Draft, link: Link) -> MadeLink:
    """The link that the same draft made before. Raises IdempotencyKeyReused if it was another draft, or is deleted."""
    if link.asked != draft.asked():
        raise IdempotencyKeyReused("this Idempotency-Key has made another link already; use a new one for each link")
    if link.deleted:
        raise IdempotencyKeyReused("this Idempotency-Key has made a link that was deleted since; use a new one")
    return MadeLink(link, "repeated")


def _drawn_from(draft: Draft, settings: SharingSettings) -> Mapping[str, Any]:
    language = draft.language or settings.language
    # Another language may lack the theme that is set for ours.
    usual = settings.theme if language == settings.language else None
    return {"language": language, "theme": (usual if draft.theme is None else draft.theme) or None}
