"""Visits on SQLite. Whoever writes is alone, so that counting again cannot miss what is counted meanwhile."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.adapters.visit_rows import (
    COLUMN_OF,
    EVENTS_AT_A_TIME,
    LINKS_AT_A_TIME,
    buckets_of,
    event_of,
    row_of,
    visit_of,
)
from waypost.sharing.visits.spans import DAY, FIRST_DAY, HOUR, LAST_DAY, Range, cover, cover_by, from_us, to_us, windows
from waypost.sharing.visits.store import DIMENSIONS, Bucket, Counted, Span, Step
from waypost.sharing.visits.tally import Event, Tally, read_agents, totals
from waypost.sharing.visits.visit import Visit

SQL = load_queries(__package__, "visits.sql")

_CLEARING = (
    *("clear_days", "clear_visitors", "clear_hours", "clear_values", "clear_stretches"),
    *("add_up_stretches", "add_up_totals"),
)


class SqliteVisitStore:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def append(self, visits: Sequence[Visit]) -> int:
        def work(tx: sqlite3.Connection) -> int:
            ids = _json([event.visit.id for event in events])
            known = {row["id"] for row in tx.execute(SQL["known"], {"ids": ids})}
            new = [event for event in events if event.visit.id not in known]
            tx.executemany(SQL["add"], map(_row, new))
            _count(tx, Tally(new))
            return len(new)

        # Before the transaction: others should not wait until agents are read.
        events = await asyncio.to_thread(read_agents, visits)
        return await self._database.write(work)

    async def count(self, link_ids: Sequence[str]) -> Mapping[str, int]:
        rows = await self._fetch("count", {"links": _json(link_ids)})
        return {row["link_id"]: row["visits"] for row in rows}

    async def totals(self, link_id: str, span: Span) -> Counted:
        asked = cover(span)
        ranges = (asked.days, *asked.hours, *asked.moments, *asked.parts)
        [row] = await self._fetch("totals", (link_id, *_flat(ranges)))
        return Counted(row["visits"], row["visitors"], row["bots"])

    async def series(self, link_id: str, span: Span, step: Step) -> Sequence[Bucket]:
        asked = cover_by(step, span)
        ranges = (asked.days, *asked.hours, *asked.moments)
        hours = [start // HOUR for start, _ in asked.moments]
        return buckets_of(await self._fetch("series", (link_id, *_flat(ranges), *hours)), step)

    async def top(self, link_id: str, span: Span, dimension: str, limit: int) -> Sequence[tuple[str, int]]:
        asked = cover(span)
        ranges = (asked.stretches, *asked.spare_days, asked.days, *asked.parts)
        sql = SQL["top"].replace("{column}", COLUMN_OF[dimension])
        arguments = (link_id, dimension, *_flat(ranges), limit)
        rows = await self._database.read(lambda c: c.execute(sql, arguments).fetchall())
        return [(row["value"], row["visits"]) for row in rows]

    async def events(self, link_id: str, span: Span) -> AsyncIterator[Sequence[Visit]]:
        asked = {
            "link_id": link_id,
            "at": FIRST_DAY * DAY if span.start is None else to_us(span.start),
            "id": "",
            "end": LAST_DAY * DAY if span.end is None else to_us(span.end),
            "limit": EVENTS_AT_A_TIME,
        }
        while rows := await self._fetch("events", asked):
            yield [visit_of(row, from_us(row["at"])) for row in rows]
            asked |= {"at": rows[-1]["at"], "id": rows[-1]["id"]}

    async def forget(self, before: datetime, limit: int) -> int:
        def work(tx: sqlite3.Connection) -> int:
            tx.execute(SQL["remember"], {"before": to_us(before)})
            old = tx.execute(SQL["old"], {"before": to_us(before), "limit": limit}).fetchall()
            tx.executemany(SQL["forget"], [(row["id"],) for row in old])
            tx.executemany(SQL["forget_visitor"], [(row["link_id"], row["day"], row["visitor"]) for row in old])
            return len(old)

        return await self._database.write(work)

    async def rebuild(self, on_progress: Callable[[int], None]) -> int:
        counted, after = 0, ""
        while rows := await self._fetch("links", {"after": after, "limit": LINKS_AT_A_TIME}):
            links = [row["link_id"] for row in rows]
            [ages] = await self._fetch("ages")
            for window in windows(*(None if age is None else from_us(age) for age in ages)):
                counted += await self._database.write(partial(_count_again, links=links, window=window))
                on_progress(counted)
            after = links[-1]
        return counted

    async def _fetch(self, name: str, arguments: Any = ()) -> list[sqlite3.Row]:
        return await self._database.read(lambda c: c.execute(SQL[name], arguments).fetchall())


def _count_again(tx: sqlite3.Connection, links: Sequence[str], window: Range) -> int:
    [forgotten] = tx.execute(SQL["forgotten"]).fetchone()
    first, last = max(window[0], -(-forgotten // DAY)), window[1]
    if first >= last:
        return 0
    asked = {"links": _json(links), "dimensions": _json(DIMENSIONS), "window": window[0], "first": first, "last": last}
    for name in _CLEARING:
        tx.execute(SQL[name], asked)
    found = tx.execute(SQL["all_of"], asked | {"start": first * DAY, "end": last * DAY})
    tally = Tally(event_of(row, from_us(row["at"])) for row in found)
    _count(tx, tally)
    return tally.events


def _count(tx: sqlite3.Connection, tally: Tally) -> None:
    """Add to what was counted."""
    met = (row for row in tally.visitors() if tx.execute(SQL["meet"], row).rowcount)
    days = tally.days(Counter((link, day) for link, day, _ in met))
    tx.executemany(SQL["count_totals"], totals(days))
    tx.executemany(SQL["count_days"], days)
    tx.executemany(SQL["count_hours"], tally.hours())
    tx.executemany(SQL["count_values"], tally.values())


def _row(event: Event) -> tuple[Any, ...]:
    visit_id, link_id, at, *rest = row_of(event)
    return (visit_id, link_id, to_us(at), *rest)


def _flat(ranges: Iterable[Range]) -> list[int]:
    return [number for each in ranges for number in each]


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()
