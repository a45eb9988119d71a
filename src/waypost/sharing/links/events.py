"""What happened to links: one event for each change."""

from datetime import datetime

import msgspec

from waypost.scaling.event_outbox import Event, new_event
from waypost.sharing.links.link import Link

LINK_CREATED = "link.created.v1"
LINK_EDITED = "link.edited.v1"
LINK_DISABLED = "link.disabled.v1"
LINK_DELETED = "link.deleted.v1"
LINK_ERASED = "link.erased.v1"


class LinkNow(msgspec.Struct, frozen=True):
    """What a process that keeps a copy of a link must know; each change to a link makes the next version."""

    id: str
    phrase: str
    version: int
    target: str
    disabled: bool
    expires_at: datetime | None


def link_changed(before: Link | None, after: Link) -> Event:
    return _event(_name(before, after), after)


def link_erased(link: Link) -> Event:
    """Consumers that keep visits or earlier states of the link should drop them too."""
    return _event(LINK_ERASED, link)


def _event(name: str, link: Link) -> Event:
    data = LinkNow(link.id, link.phrase, link.version, link.target, link.disabled, link.expires_at)
    return new_event(name, link.id, link.updated_at, data)


def _name(before: Link | None, after: Link) -> str:
    if before is None:
        return LINK_CREATED
    if after.deleted:
        return LINK_DELETED
    return LINK_DISABLED if after.disabled and not before.disabled else LINK_EDITED
