"""Links on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from waypost.adapters.link_rows import (
    AT_A_TIME,
    COLUMNS,
    EDITED,
    Change,
    NothingKept,
    Obstacles,
    change,
    columns_of,
    columns_with,
    erasure,
    is_impossible,
    like,
    like_folded,
    listed,
    nearer,
    to_event,
    to_link,
)
from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries
from waypost.scaling.event_outbox import Event
from waypost.sharing.links.events import LINK_CREATED
from waypost.sharing.links.history import read_back
from waypost.sharing.links.link import AlreadyMade, Link, LinkChanged, PhraseTaken
from waypost.sharing.links.store import Edit, ErasedHistory, LinkPage, Position, Wanted
from waypost.sharing.phrases.matching import fold_phrase

SQL = load_queries(__package__, "links.sql")

# "links" in ASCII: the lock that every process takes to add many of them.
_TURN = int.from_bytes(b"links")
# Ten thousand links take a second or two, and others may be first.
_PATIENCE = 60.0
# Putting them into columns keeps the event loop busy, and redirects waiting, for a few milliseconds.
_AT_A_TIME = 100
_TYPES = {datetime: "timestamptz", int: "bigint", bool: "boolean"}
_TYPE_OF = {name: sql for kind, sql in _TYPES.items() for name in columns_with(kind)}
# How many arguments stand before the columns of links in the statement.
_BEFORE = 7
_ADD = SQL["add"].format(
    columns=", ".join(COLUMNS),
    arrays=", ".join(f"${number}::{_TYPE_OF.get(name, 'text')}[]" for number, name in enumerate(COLUMNS, _BEFORE + 1)),
)
_EDIT = SQL["edit"].format(edited=", ".join(f"{name} = ${number}" for number, name in enumerate(EDITED, 2)))


class PostgresLinkStore(PostgresStore):
    async def add(self, link: Link, by: str) -> None:
        if await self._database.fetch(_ADD, *_to_add([link], by)):
            return
        obstacle = (await _obstacles(self._database, [link])).of(link)
        if obstacle is not None and obstacle.id == link.id:
            raise AlreadyMade(obstacle)
        raise PhraseTaken.of(link)

    async def add_many(self, links: Sequence[Link], by: str, *, atomic: bool) -> Sequence[Link | None]:
        try:
            async with self._database.transaction() as tx:
                return await _add_all(tx, links, by, atomic=atomic)
        except NothingKept as error:
            return error.obstacles

    async def find(self, phrase: str) -> Link | None:
        [link] = await self.find_many([phrase])
        return link

    async def find_many(self, phrases: Sequence[str]) -> Sequence[Link | None]:
        folded = [fold_phrase(each) for each in phrases]
        found = {row["folded"]: to_link(row) for row in await self._database.fetch(SQL["find"], folded)}
        return [found.get(each) for each in folded]

    async def get(self, id: str) -> Link | None:  # noqa: A002 - as the port has it
        return await self._one("get", id)

    async def edit(self, link: Link, by: str) -> None:
        async with self._database.transaction() as tx:
            before = await _replace(tx, link)
            await _tell(tx, link, change(before, link), by)

    async def erase(self, link: Link, by: str) -> ErasedHistory:
        async with self._database.transaction() as tx:
            await _replace(tx, link)
            edits = await tx.execute(SQL["erase_history"], link.id, timeout=_PATIENCE)
            events = await tx.execute(SQL["erase_events"], link.id, timeout=_PATIENCE)
            await _tell(tx, link, erasure(link), by)
        # What is deleted stays in the server's files until it is vacuumed, and in its log and its backups.
        return ErasedHistory(_changed(edits), _changed(events), overwritten=False)

    async def page(self, wanted: Wanted, after: Position | None, limit: int) -> LinkPage:
        if is_impossible(wanted):
            return LinkPage((), None)
        horizon = await self._horizon(wanted, after) if wanted.text is not None else None
        sql, values = page_statement(wanted, after, horizon, limit=limit + 1)
        return listed([to_link(row) for row in await self._database.fetch(sql, *values)], limit, horizon)

    async def _horizon(self, wanted: Wanted, after: Position | None) -> Position | None:
        sql, values = _list_statement("horizon", msgspec.structs.replace(wanted, text=None), after, None, AT_A_TIME)
        rows = await self._database.fetch(sql, *values)
        return Position(rows[0]["created_at"], rows[0]["id"]) if rows else None

    async def to_target(self, target: str, owner: str) -> Link | None:
        return await self._one("to_target", owner, target)

    async def history(self, link_id: str, after: int = 0, limit: int = 1000) -> Sequence[Edit]:
        return [
            Edit(
                row["link_id"],
                row["version"],
                row["at"],
                row["changed_by"],
                read_back(row["before"]) if row["before"] else None,
                read_back(row["after"]),
            )
            for row in await self._database.fetch(SQL["history"], link_id, after, limit)
        ]

    async def events(self, link_id: str) -> Sequence[Event]:
        return [to_event(row, row["occurred_at"]) for row in await self._database.fetch(SQL["events"], link_id)]

    async def count_up(self, link_id: str, most: int) -> bool:
        return bool(await self._database.fetch(SQL["count_up"], link_id, most))

    async def taken(self, link_id: str) -> int:
        rows = await self._database.fetch(SQL["taken"], link_id)
        return int(rows[0]["taken"]) if rows else 0

    async def _one(self, statement: str, *values: str) -> Link | None:
        rows = await self._database.fetch(SQL[statement], *values)
        return to_link(rows[0]) if rows else None


def page_statement(
    wanted: Wanted, after: Position | None, until: Position | None, *, limit: int
) -> tuple[str, list[Any]]:
    return _list_statement("page", wanted, after, until, limit)


def _list_statement(
    name: str, wanted: Wanted, after: Position | None, until: Position | None, count: int
) -> tuple[str, list[Any]]:
    """Builds a statement of only what is asked for: a condition that may be empty would keep its index from use."""
    wanted, after = nearer(wanted, after)
    asked: list[tuple[str, tuple[Any, ...]]] = [
        ("tag", (wanted.tag,)),
        ("after", _position(after)),
        ("until", _position(until)),
        ("created_from", (wanted.created_from,)),
        ("created_to", (wanted.created_to,)),
        ("language", (wanted.language,)),
        ("theme", (wanted.theme,)),
        ("owner", (wanted.owner,)),
        ("text", _patterns(wanted.text)),
    ]
    present = [(each, values) for each, values in asked if values[0] is not None]
    conditions = "\n".join(SQL[f"where_{each}"] for each, _ in present)
    statement = SQL[name if wanted.tag is None else f"{name}_by_tag"].replace("{conditions}", conditions)
    statement = statement.replace("{list}", "links" if wanted.tag is None else "link_tags")
    arguments = [value for _, values in present for value in values] + [count]
    for number in range(1, len(arguments) + 1):
        statement = statement.replace("$?", f"${number}", 1)
    return statement, arguments


def _position(position: Position | None) -> tuple[Any, ...]:
    return (position.created_at, position.id) if position else (None,)


def _patterns(text: str | None) -> tuple[str | None, ...]:
    return (None,) if text is None else (like(text), like(text), like_folded(text))


def _to_add(links: Sequence[Link], by: str) -> tuple[Any, ...]:
    """The arguments of the statement: a list for each column."""
    rows = [columns_of(link) for link in links]
    changes = [change(None, link) for link in links]
    tags = [(link.id, tag) for link in links for tag in link.tags]
    return (
        [changed.after for changed in changes],
        [UUID(changed.event.id) for changed in changes],
        [bytes(changed.event.data).decode() for changed in changes],
        by,
        LINK_CREATED,
        [link_id for link_id, _ in tags],
        [tag for _, tag in tags],
        *([row[name] for row in rows] for name in COLUMNS),
    )


async def _add_all(tx: Any, links: Sequence[Link], by: str, *, atomic: bool) -> list[Link | None]:
    await tx.fetch(SQL["take_turns"], _TURN, timeout=_PATIENCE)
    added: set[str] = set()
    for start in range(0, len(links), _AT_A_TIME):
        some = _to_add(links[start : start + _AT_A_TIME], by)
        added |= {row["id"] for row in await tx.fetch(_ADD, *some, timeout=_PATIENCE)}
    obstacles = await _obstacles(tx, [link for link in links if link.id not in added])
    found = [None if link.id in added else obstacles.of(link) for link in links]
    if atomic and len(added) < len(links):
        raise NothingKept(found)
    return found


async def _obstacles(connection: Any, links: Sequence[Link]) -> Obstacles:
    if not links:
        return Obstacles(())
    rows = [columns_of(link) for link in links]
    columns = ([row[name] for row in rows] for name in ("id", "folded", "looks"))
    return Obstacles([to_link(row) for row in await connection.fetch(SQL["in_the_way"], *columns)])


async def _replace(tx: Any, link: Link) -> Link:
    """Writes the next version of a link and its tags; returns the one before. Raises LinkChanged."""
    rows = await tx.fetch(SQL["hold"], link.id)
    if not rows or rows[0]["version"] != link.version - 1:
        raise LinkChanged.of(link)
    before, columns = to_link(rows[0]), columns_of(link)
    await tx.execute(_EDIT, link.id, *(columns[name] for name in EDITED))
    await tx.execute(SQL["drop_tags"], before.tags, link.created_at, link.id)
    if not link.deleted:
        await tx.execute(SQL["add_tags"], link.tags, link.created_at, link.id)
    return before


async def _tell(tx: Any, link: Link, changed: Change, by: str) -> None:
    """Writes down what became of a link: its history and its event."""
    version = link.id, link.version, link.updated_at
    await tx.execute(SQL["write_history"], *version, by, changed.before, changed.after)
    event = changed.event
    told = UUID(event.id), event.name, event.subject, event.occurred_at, bytes(event.data).decode()
    await tx.execute(SQL["event"], *told)


def _changed(status: str) -> int:
    """How many rows a statement has changed, from what the server says, such as `DELETE 3`."""
    return int(status.rpartition(" ")[2])
