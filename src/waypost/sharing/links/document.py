"""A link, and each change to it, as people and scripts see them: over HTTP, from commands and in files."""

import re
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from waypost.kernel.folding import slug
from waypost.sharing.links.link import Link, LinkDocument, LinkState
from waypost.sharing.links.store import Edit
from waypost.sharing.visits.store import VisitStore

_SEPARATORS = re.compile(r"[-_ ]+")


class EditDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`by` is `key:` and the key's id, `local` or `anonymous`; to a caller with an edit token, `admin` stands for the
    first two. `before` is null for the link's creation.
    """

    version: int
    at: datetime
    by: str
    before: LinkState | None
    after: LinkState


# Fields that a document copies from the link unchanged.
_SAME = tuple(name for name in LinkDocument.__struct_fields__ if name in Link.__struct_fields__)
_SAME_STATE = tuple(name for name in LinkState.__struct_fields__ if name in Link.__struct_fields__)


def path_of(phrase: str) -> str:
    """The phrase as written in an address: unchanged, or, if that would need percent signs, in ASCII with hyphens."""
    if phrase.isascii() and " " not in phrase:
        return quote(phrase)
    return slug(_SEPARATORS.sub(" ", phrase))


def show_link(link: Link, base_url: str, visits: int, edit_token: str | None = None) -> LinkDocument:
    return LinkDocument(
        **{name: getattr(link, name) for name in _SAME},
        url=f"{base_url.rstrip('/')}/{path_of(link.phrase)}",
        protected=link.password is not None,
        visits=visits,
        edit_token=UNSET if edit_token is None else edit_token,
    )


async def show_links(visits: VisitStore, links: Sequence[Link], base_url: str) -> Sequence[LinkDocument]:
    """Returns the links as documents, each with its number of visits."""
    counted = await visits.count([link.id for link in links])
    return [show_link(link, base_url, counted.get(link.id, 0)) for link in links]


def show_edit(edit: Edit) -> EditDocument:
    before = None if edit.before is None else _state(edit.before)
    return EditDocument(version=edit.version, at=edit.at, by=edit.by, before=before, after=_state(edit.after))


def _state(link: Link) -> LinkState:
    return LinkState(**{name: getattr(link, name) for name in _SAME_STATE}, protected=link.password is not None)
