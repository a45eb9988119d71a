"""Where links and their history are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from waypost.scaling.event_outbox import Event
from waypost.sharing.links.link import Link


class Edit(msgspec.Struct, frozen=True):
    """Who changed a link, when, and what it was before; `before` is None for its creation.

    It says only whether there was a password, not which.
    """

    link_id: str
    version: int
    at: datetime
    by: str
    before: Link | None
    after: Link


class ErasedHistory(msgspec.Struct, frozen=True):
    """`overwritten`: no file of the store holds it any more."""

    edits: int
    events: int
    overwritten: bool


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which links to list; None means all.

    `text` is looked for in phrase, title and target. Case does not count, at least for the letters a to z; in a
    phrase neither do accents and separators. Links created at `created_to` itself are left out.
    """

    text: str | None = None
    tag: str | None = None
    language: str | None = None
    theme: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    owner: str | None = None


class Position(msgspec.Struct, frozen=True):
    """Where in the list, newest first, a page ended: the next one begins after it."""

    created_at: datetime
    id: str


class LinkPage(msgspec.Struct, frozen=True):
    """A page of links. There may be more after `next`, even when the page is not full; None means the end."""

    links: Sequence[Link]
    next: Position | None


class LinkStore(Protocol):
    """Every change writes a row of history and an event (`link.created.v1`, …) in its own transaction."""

    async def add(self, link: Link, by: str) -> None:
        """Keep a new link. Raises PhraseTaken when a phrase that reads or looks the same is, or was, in use.

        Raises AlreadyMade when a link has the same id, because it was made with the same Idempotency-Key.
        """
        ...

    async def add_many(self, links: Sequence[Link], by: str, *, atomic: bool) -> Sequence[Link | None]:
        """Keep many new links in one transaction. For each: None if it was kept; else the link that stands in its way.

        That link has the same id (made before, with the same Idempotency-Key) or a phrase that reads or looks the
        same; it may be an earlier one of `links`. With `atomic` nothing is kept unless all are.
        No two of `links` have the same id.
        """
        ...

    async def find(self, phrase: str) -> Link | None:
        """The link with this phrase, whatever its case and separators, even if it is deleted or disabled."""
        ...

    async def find_many(self, phrases: Sequence[str]) -> Sequence[Link | None]:
        """Finds the link of each phrase, as `find` does, in the same order."""
        ...

    async def get(self, id: str) -> Link | None: ...  # noqa: A002 - it is what it is

    async def edit(self, link: Link, by: str) -> None:
        """Keep a changed link. Raises LinkChanged unless its version is one more than the stored version.

        Its phrase, its owner and when it was made never change.

        The event says what happened: `link.deleted.v1`, `link.disabled.v1` when this edit disables it, else
        `link.edited.v1`.
        """
        ...

    async def erase(self, link: Link, by: str) -> ErasedHistory:
        """Keep a changed link, as `edit` does, and drop all its edits and all its events that were not relayed yet.

        Its history then begins with this version, which `by` made, and one event tells of it: `link.erased.v1`.
        """
        ...

    async def page(self, wanted: Wanted, after: Position | None, limit: int) -> LinkPage:
        """Links that are not deleted, newest first. A text is looked for in a bounded number of links per page."""
        ...

    async def to_target(self, target: str, owner: str) -> Link | None:
        """The owner's newest link to this target that is as good as a new one: neither disabled nor deleted, and
        without a password, a limit or an end.
        """
        ...

    async def history(self, link_id: str, after: int = 0, limit: int = 1000) -> Sequence[Edit]:
        """The edits of a link, oldest first: those that made versions later than `after`, at most `limit`."""
        ...

    async def events(self, link_id: str) -> Sequence[Event]:
        """The events of a link that have not been relayed yet, oldest first."""
        ...

    async def count_up(self, link_id: str, most: int) -> bool:
        """Take one of the `most` visits of a limited link; false when all are taken."""
        ...

    async def taken(self, link_id: str) -> int:
        """How many visits of a limited link are taken."""
        ...
