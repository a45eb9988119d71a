"""Links as they are shown, over HTTP and by commands."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waypost.sharing.links.link import Link
from waypost.sharing.links.store import Edit
from waypost.sharing.links.view import LinkView, view

Count = Annotated[int, Meta(ge=0)]


class LinkDocument(LinkView, frozen=True, kw_only=True):
    """A link. `visits` are those of people, and `owner` is the id of the key that it was made with."""

    owner: str | None
    # Once, for whoever makes a link without a key.
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


class EditDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`by` is `key:` and the key's id, `local` or `anonymous`; `before` is null for the link's making."""

    version: int
    at: datetime
    by: str
    before: LinkState | None
    after: LinkState


class History(msgspec.Struct, frozen=True):
    """`next` is what to ask for as `after`, to go on; null after the last."""

    phrase: str
    edits: Sequence[EditDocument]
    next: int | None


class LinkList(msgspec.Struct, frozen=True):
    """`next` is the whole address of the next page; null after the last."""

    links: Sequence[LinkDocument]
    next: str | None


def show_link(link: Link, base_url: str, visits: int, edit_token: str | None = None) -> LinkDocument:
    return LinkDocument(
        **msgspec.structs.asdict(view(link, base_url=base_url, visits=visits)),
        owner=link.owner,
        edit_token=UNSET if edit_token is None else edit_token,
    )


def show_edit(edit: Edit) -> EditDocument:
    before = None if edit.before is None else _state(edit.before)
    return EditDocument(version=edit.version, at=edit.at, by=edit.by, before=before, after=_state(edit.after))


def _state(link: Link) -> LinkState:
    same = {name: getattr(link, name) for name in LinkState.__struct_fields__ if name != "protected"}
    return LinkState(**same, protected=link.password is not None)
