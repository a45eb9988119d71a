"""What all stores of links keep in the same form, whatever their backend: columns, histories and events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, get_args

import msgspec

from waypost.scaling.event_outbox import Event
from waypost.sharing.links.events import link_changed, link_erased
from waypost.sharing.links.history import write_down
from waypost.sharing.links.link import Link
from waypost.sharing.links.store import LinkPage, Position, Wanted
from waypost.sharing.phrases.matching import fold_phrase, is_phrase, looks

# How many links are searched for a text at a time: more would keep others waiting.
AT_A_TIME = 50_000

_TYPES = {field.name: {field.type, *get_args(field.type)} for field in msgspec.structs.fields(Link)}
# A row has all fields of a link, and how its phrase reads and looks.
COLUMNS = (*_TYPES, "folded", "looks")
_FIXED = {"id", "phrase", "folded", "looks", "language", "theme", "format", "created_at", "owner", "asked"}
EDITED = tuple(name for name in COLUMNS if name not in _FIXED)

_texts = msgspec.json.Decoder(tuple[str, ...])


class Change(NamedTuple):
    """A row of history, and the event that tells of it."""

    before: str | None
    after: str
    event: Event


def change(before: Link | None, after: Link) -> Change:
    return Change(write_down(before) if before else None, write_down(after), link_changed(before, after))


def erasure(link: Link) -> Change:
    return Change(None, write_down(link), link_erased(link))


def columns_of(link: Link) -> dict[str, Any]:
    """A link's columns; times and booleans are still Python's."""
    return msgspec.structs.asdict(link) | {
        "folded": fold_phrase(link.phrase),
        "looks": looks(link.phrase),
        "tags": msgspec.json.encode(link.tags).decode(),
        "owner": link.owner or "",
    }


def columns_with(kind: type) -> tuple[str, ...]:
    """The columns whose values are of this type."""
    return tuple(name for name, types in _TYPES.items() if kind in types)


def to_link(row: Mapping[str, Any]) -> Link:
    """Makes a link from a row whose times and booleans are Python's."""
    columns = {name: row[name] for name in Link.__struct_fields__}
    columns["tags"] = _texts.decode(row["tags"])
    columns["owner"] = row["owner"] or None
    return Link(**columns)


def to_event(row: Any, occurred_at: datetime) -> Event:
    return Event(row["id"], row["name"], row["subject"], occurred_at, msgspec.Raw(row["data"].encode()))


class Obstacles:
    """Links that keep others from being added: one with the same id comes before one with a similar phrase."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._by_id = {link.id: link for link in links}
        self._by_folded = {fold_phrase(link.phrase): link for link in links}
        self._by_looks = {looks(link.phrase): link for link in links}

    def of(self, link: Link) -> Link | None:
        found = self._by_id.get(link.id) or self._by_folded.get(fold_phrase(link.phrase))
        return found or self._by_looks.get(looks(link.phrase))


def is_impossible(wanted: Wanted) -> bool:
    """Whether a text has a null character: no link has one, and not every backend can be asked for it."""
    return any(isinstance(value, str) and "\0" in value for value in msgspec.structs.astuple(wanted))


def nearer(wanted: Wanted, after: Position | None) -> tuple[Wanted, Position | None]:
    """Keeps the position further down the list: with both, an index may be read from the wrong one."""
    if after is None or wanted.created_to is None:
        return wanted, after
    if after.created_at < wanted.created_to:
        return msgspec.structs.replace(wanted, created_to=None), after
    return wanted, None


def listed(links: Sequence[Link], limit: int, horizon: Position | None) -> LinkPage:
    """Makes a page of links that were read with one more than it may have."""
    if len(links) > limit:
        return LinkPage(links[:limit], Position(links[limit - 1].created_at, links[limit - 1].id))
    return LinkPage(links, horizon)


class NothingKept(Exception):
    """Rolls back a transaction that was to keep all links, or none."""

    def __init__(self, obstacles: Sequence[Link | None]) -> None:
        super().__init__()
        self.obstacles = obstacles


def like(text: str) -> str:
    """An SQL pattern that matches whatever contains the text; backslash escapes."""
    return "%" + text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"


def like_folded(text: str) -> str | None:
    """The same for folded phrases; None if the text could not be part of one."""
    folded = fold_phrase(text) if is_phrase(text) else ""
    return like(folded) if folded else None
