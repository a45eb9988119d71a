"""Links on SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

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
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore
from waypost.kernel.clock import from_us, to_us
from waypost.scaling.event_outbox import Event
from waypost.sharing.links.history import read_back
from waypost.sharing.links.link import AlreadyMade, Link, LinkChanged, PhraseTaken
from waypost.sharing.links.store import Edit, ErasedHistory, LinkPage, Position, Wanted
from waypost.sharing.phrases.matching import fold_phrase

SQL = load_queries(__package__, "links.sql")

_ADD = SQL["add"].format(columns=", ".join(COLUMNS), values=", ".join(f":{name}" for name in COLUMNS))
_EDIT = SQL["edit"].format(edited=", ".join(f"{name} = :{name}" for name in EDITED))
_MOMENTS = columns_with(datetime)
_TRUTHS = columns_with(bool)


class SqliteLinkStore(SqliteStore):
    async def add(self, link: Link, by: str) -> None:
        [obstacle] = await self.add_many([link], by, atomic=True)
        if obstacle is not None and obstacle.id == link.id:
            raise AlreadyMade(obstacle)
        if obstacle is not None:
            raise PhraseTaken.of(link)

    async def add_many(self, links: Sequence[Link], by: str, *, atomic: bool) -> Sequence[Link | None]:
        def work(tx: sqlite3.Connection) -> list[Link | None]:
            obstacles = [_add(tx, link) for link in links]
            if atomic and any(obstacles):
                raise NothingKept(obstacles)
            added = [link for link, obstacle in zip(links, obstacles, strict=True) if not obstacle]
            _tell(tx, [(link, change(None, link)) for link in added], by)
            return obstacles

        try:
            return await self._database.write(work)
        except NothingKept as refused:
            return refused.obstacles

    async def find(self, phrase: str) -> Link | None:
        [link] = await self.find_many([phrase])
        return link

    async def find_many(self, phrases: Sequence[str]) -> Sequence[Link | None]:
        folded = [fold_phrase(each) for each in phrases]
        asked = {"folded": msgspec.json.encode(folded).decode()}
        rows = await self._database.read(lambda c: c.execute(SQL["find"], asked).fetchall())
        found = {row["folded"]: _to_link(row) for row in rows}
        return [found.get(each) for each in folded]

    async def get(self, id: str) -> Link | None:  # noqa: A002 - as the port has it
        return await self._one("get", {"id": id})

    async def edit(self, link: Link, by: str) -> None:
        def work(tx: sqlite3.Connection) -> None:
            before = _replace(tx, link)
            tx.executemany(SQL["drop_tag"], _tag_rows(before))
            _tell(tx, [(link, change(before, link))], by)

        await self._database.write(work)

    async def erase(self, link: Link, by: str) -> ErasedHistory:
        def work(tx: sqlite3.Connection) -> tuple[int, int]:
            before = _replace(tx, link)
            edits = tx.execute(SQL["erase_history"], {"id": link.id}).rowcount
            events = tx.execute(SQL["erase_events"], {"id": link.id}).rowcount
            tx.executemany(SQL["drop_tag"], _tag_rows(before))
            _tell(tx, [(link, erasure(link))], by)
            return edits, events

        edits, events = await self._database.write(work)
        return ErasedHistory(edits, events, await self._database.scrub())

    async def page(self, wanted: Wanted, after: Position | None, limit: int) -> LinkPage:
        if is_impossible(wanted):
            return LinkPage((), None)
        horizon = await self._horizon(wanted, after) if wanted.text is not None else None
        sql, values = page_statement(wanted, after, horizon, limit=limit + 1)
        rows = await self._database.read(lambda c: c.execute(sql, values).fetchall())
        return listed([_to_link(row) for row in rows], limit, horizon)

    async def _horizon(self, wanted: Wanted, after: Position | None) -> Position | None:
        sql, values = _list_statement("horizon", msgspec.structs.replace(wanted, text=None), after, None)
        row = await self._database.read(lambda c: c.execute(sql, values | {"at_a_time": AT_A_TIME}).fetchone())
        return Position(from_us(row["created_at"]), row["id"]) if row else None

    async def to_target(self, target: str, owner: str) -> Link | None:
        return await self._one("to_target", {"target": target, "owner": owner})

    async def history(self, link_id: str, after: int = 0, limit: int = 1000) -> Sequence[Edit]:
        asked = {"id": link_id, "after": after, "limit": limit}
        rows = await self._database.read(lambda c: c.execute(SQL["history"], asked).fetchall())
        return [
            Edit(
                row["link_id"],
                row["version"],
                from_us(row["at"]),
                row["changed_by"],
                read_back(row["before"]) if row["before"] else None,
                read_back(row["after"]),
            )
            for row in rows
        ]

    async def events(self, link_id: str) -> Sequence[Event]:
        rows = await self._database.read(lambda c: c.execute(SQL["events"], {"id": link_id}).fetchall())
        return [to_event(row, from_us(row["occurred_at"])) for row in rows]

    async def count_up(self, link_id: str, most: int) -> bool:
        counted = {"id": link_id, "most": most}
        return await self._database.write(lambda tx: tx.execute(SQL["count_up"], counted).rowcount) == 1

    async def taken(self, link_id: str) -> int:
        row = await self._database.read(lambda c: c.execute(SQL["taken"], {"id": link_id}).fetchone())
        return int(row["taken"]) if row else 0

    async def _one(self, statement: str, values: dict[str, Any]) -> Link | None:
        row = await self._database.read(lambda c: c.execute(SQL[statement], values).fetchone())
        return _to_link(row) if row else None


def page_statement(
    wanted: Wanted, after: Position | None, until: Position | None, *, limit: int
) -> tuple[str, dict[str, Any]]:
    sql, values = _list_statement("page", wanted, after, until)
    return sql, values | {"limit": limit}


def _list_statement(
    name: str, wanted: Wanted, after: Position | None, until: Position | None
) -> tuple[str, dict[str, Any]]:
    """Builds a statement of only what is asked for: a condition that may be empty would keep its index from use."""
    wanted, after = nearer(wanted, after)
    asked = msgspec.structs.asdict(wanted) | {"after": after, "until": until}
    needed = [each for each, value in asked.items() if each != "tag" and value is not None]
    if wanted.text is not None and not wanted.text.isascii():
        needed[needed.index("text")] = "text_caseless"
    conditions = [SQL[f"where_{each}"] for each in needed]
    statement = SQL[name if wanted.tag is None else f"{name}_by_tag"].replace("{conditions}", "\n".join(conditions))
    values = msgspec.structs.asdict(wanted) | {
        "created_from": _us(wanted.created_from),
        "created_to": _us(wanted.created_to),
        "text": like((wanted.text or "").lower()),
        "folded": like_folded(wanted.text or ""),
        **_position("after", after),
        **_position("until", until),
    }
    return statement.replace("{list}", "links" if wanted.tag is None else "link_tags"), values


def _position(name: str, position: Position | None) -> dict[str, Any]:
    return {f"{name}_created_at": to_us(position.created_at), f"{name}_id": position.id} if position else {}


def _add(tx: sqlite3.Connection, link: Link) -> Link | None:
    columns = _columns(link)
    if tx.execute(_ADD, columns).rowcount:
        return None
    return Obstacles([_to_link(row) for row in tx.execute(SQL["in_the_way"], columns)]).of(link)


def _replace(tx: sqlite3.Connection, link: Link) -> Link:
    """Writes the next version of a link; returns the one before. Raises LinkChanged."""
    row = tx.execute(SQL["get"], {"id": link.id}).fetchone()
    if row is None or row["version"] != link.version - 1:
        raise LinkChanged.of(link)
    tx.execute(_EDIT, _columns(link))
    return _to_link(row)


def _tell(tx: sqlite3.Connection, changes: Sequence[tuple[Link, Change]], by: str) -> None:
    """Writes down what became of links: their history, their events, and the tags by which they are listed."""
    rows = [_change_row(after, changed, by) for after, changed in changes]
    tx.executemany(SQL["write_history"], rows)
    tx.executemany(SQL["event"], rows)
    tx.executemany(SQL["add_tag"], [row for link, _ in changes if not link.deleted for row in _tag_rows(link)])


def _change_row(after: Link, changed: Change, by: str) -> dict[str, Any]:
    return {
        "id": after.id,
        "version": after.version,
        "updated_at": to_us(after.updated_at),
        "by": by,
        "before": changed.before,
        "after": changed.after,
        "event_id": changed.event.id,
        "name": changed.event.name,
        "data": bytes(changed.event.data).decode(),
    }


def _tag_rows(link: Link) -> list[dict[str, Any]]:
    return [{"tag": tag, "created_at": to_us(link.created_at), "id": link.id} for tag in link.tags]


def _columns(link: Link) -> dict[str, Any]:
    columns = columns_of(link)
    return columns | {name: _us(columns[name]) for name in _MOMENTS}


def _us(moment: datetime | None) -> int | None:
    return None if moment is None else to_us(moment)


def _to_link(row: sqlite3.Row) -> Link:
    columns = dict(row)
    columns |= {name: from_us(row[name]) for name in _MOMENTS if row[name] is not None}
    return to_link(columns | {name: bool(row[name]) for name in _TRUTHS})
