"""What happened to links: one event for each change."""

from datetime import datetime

import msgspec

from waypost.scaling.events import Event, new_event
from waypost.sharing.links.link import Link

LINK_CREATED = "link.created.v1"
LINK_EDITED = "link.edited.v1"
LINK_DISABLED = "link.disabled.v1"
LINK_DELETED = "link.deleted.v1"


class LinkNow(msgspec.Struct, frozen=True):
    """What a process that keeps a copy of a link must know; each change to a link makes the next version."""

    id: str
    phrase: str
    version: int
    target: str
    disabled: bool
    expires_at: datetime | None


def link_changed(before: Link | None, after: Link) -> Event:
    data = LinkNow(after.id, after.phrase, after.version, after.target, after.disabled, after.expires_at)
    return new_event(_name(before, after), after.id, after.updated_at, data)


def _name(before: Link | None, after: Link) -> str:
    if before is None:
        return LINK_CREATED
    if after.deleted:
        return LINK_DELETED
    return LINK_DISABLED if after.disabled and not before.disabled else LINK_EDITED
