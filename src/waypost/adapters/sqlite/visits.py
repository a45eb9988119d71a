"""Visits on SQLite. There is one writer at a time, so counting again cannot miss what is counted meanwhile."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore
from waypost.adapters.visit_rows import (
    COLUMN_OF,
    COUNTED,
    COUNTED_AT_A_TIME,
    ERASED_AT_A_TIME,
    ERASED_COUNTS,
    EVENTS_AT_A_TIME,
    LINKS_AT_A_TIME,
    buckets_of,
    count_of,
    counted_statement,
    event_of,
    is_erased,
    row_of,
    total_of,
    visit_of,
)
from waypost.sharing.visits.arrivals import arrive
from waypost.sharing.visits.spans import (
    DAY,
    DAY_HOURS,
    FIRST_DAY,
    HOUR,
    LAST_DAY,
    STRETCH,
    Range,
    by_value,
    cover,
    cover_by,
    from_us,
    single_days,
    stretches_of,
    to_us,
    windows,
)
from waypost.sharing.visits.store import DIMENSIONS, Bucket, Counted, ErasedVisits, KeptCount, Span, Step, VisitsRefused
from waypost.sharing.visits.tally import TalliedVisit, VisitTally, read_agents, totals
from waypost.sharing.visits.visit import Visit

SQL = load_queries(__package__, "visits.sql")

# What is in a visit is too large, breaks a rule of the schema, or is not text.
_REFUSALS = (sqlite3.DataError, sqlite3.IntegrityError, OverflowError, UnicodeEncodeError)


class SqliteVisitStore(SqliteStore):
    async def append(self, visits: Sequence[Visit]) -> int:
        def work(tx: sqlite3.Connection) -> int:
            ids = _json([event.visit.id for event in events])
            known = {row["id"] for row in tx.execute(SQL["known"], {"ids": ids})}
            erased = _erased(tx, events)
            new = [event for event in events if event.visit.id not in known and not is_erased(event, erased)]
            tx.executemany(SQL["add"], map(_row, new))
            _count(tx, VisitTally(new))
            return len(new)

        # Before the transaction: others should not wait until agents are read.
        events = await asyncio.to_thread(read_agents, visits)
        try:
            return await self._database.write(work)
        except _REFUSALS as error:
            raise VisitsRefused(f"SQLite refuses it: {type(error).__name__}") from error

    async def count(self, link_ids: Sequence[str]) -> Mapping[str, int]:
        rows = await self._fetch("count", {"links": _json(link_ids)})
        return {row["link_id"]: row["visits"] for row in rows}

    async def totals(self, link_id: str, span: Span) -> Counted:
        asked = cover(span)
        ranges = (asked.days, *asked.hours, *asked.moments, *map(asked.beside, asked.moments))
        [row] = await self._fetch("totals", _numbered(link_id, *_flat(ranges)))
        return Counted(row["visits"], row["visitors"], row["bots"])

    async def series(self, link_id: str, span: Span, step: Step) -> Sequence[Bucket]:
        asked = cover_by(step, span)
        ranges = (asked.days, *asked.hours, *asked.moments)
        hours = [start // HOUR for start, _ in asked.moments]
        return buckets_of(await self._fetch("series", _numbered(link_id, *_flat(ranges), *hours)), step)

    async def top(self, link_id: str, span: Span, dimension: str, limit: int) -> Sequence[tuple[str, int]]:
        asked, periods = cover(span), by_value(span)
        pieces = (periods.stretches, *periods.days, *periods.hours)
        ranges = (*pieces, asked.days, *asked.hours, *asked.moments)
        sql = SQL["top"].replace("{column}", COLUMN_OF[dimension])
        arguments = _numbered(link_id, dimension, *_flat(ranges), limit)
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

    async def counts(self, link_id: str) -> AsyncIterator[Sequence[KeptCount]]:
        yield [total_of(row) for row in await self._fetch("totals_of", {"link_id": link_id})]
        for table, first in COUNTED.items():
            sql, behind = counted_statement(table, lambda number: f"?{number}"), tuple(first.values())
            while rows := await self._read(sql, _numbered(link_id, *behind, EVENTS_AT_A_TIME)):
                yield [count_of(table, row) for row in rows]
                behind = tuple(rows[-1][name] for name in first)

    async def forget(self, before: datetime, limit: int) -> int:
        def work(tx: sqlite3.Connection) -> int:
            tx.execute(SQL["remember"], {"before": to_us(before)})
            old = tx.execute(SQL["old"], {"before": to_us(before), "limit": limit}).fetchall()
            tx.executemany(SQL["forget"], [(row["id"],) for row in old])
            tx.executemany(SQL["forget_visitor"], [(row["link_id"], row["day"], row["visitor"]) for row in old])
            return len(old)

        return await self._database.write(work)

    async def erase(self, link_id: str, until: datetime) -> ErasedVisits:
        asked = {"link_id": link_id, "until": to_us(until), "hour": to_us(until) // HOUR, "limit": ERASED_AT_A_TIME}
        await self._database.write(lambda tx: tx.execute(SQL["begin_erasing"], asked).rowcount)
        visits = await self._repeat("erase_some", asked)
        for name in ("erase_some_values", "erase_some_visitors"):
            await self._repeat(name, asked)
        await self._database.write(partial(_count_what_is_left, asked=asked))
        return ErasedVisits(visits, await self._database.scrub())

    async def _repeat(self, name: str, asked: Mapping[str, Any]) -> int:
        """In small bites, so that others who write need not wait long."""
        erased = 0
        while some := await self._database.write(lambda tx: tx.execute(SQL[name], asked).rowcount):
            erased += some
        return erased

    async def rebuild(self, on_progress: Callable[[int], None]) -> int:
        counted, after = 0, ""
        while rows := await self._fetch("links", {"after": after, "limit": LINKS_AT_A_TIME}):
            links = [row["link_id"] for row in rows]
            async for days in self._windows(links):
                counted += await self._database.write(partial(_count_again, links=links, days=days))
                on_progress(counted)
            after = links[-1]
        return counted

    async def _windows(self, links: Sequence[str]) -> AsyncIterator[Range]:
        """Yields few days at a time where there are many events, so that others who write need not wait long."""
        [ages] = await self._fetch("ages")
        oldest, newest = (None if age is None else from_us(age) for age in ages)
        for window in windows(oldest, newest):
            asked = {"links": _json(links), "limit": COUNTED_AT_A_TIME + 1} | _moments(window)
            [(found,)] = await self._fetch("how_many", asked)
            for days in single_days(window, oldest, newest) if found > COUNTED_AT_A_TIME else [window]:
                yield days

    async def _fetch(self, name: str, arguments: Any = ()) -> list[sqlite3.Row]:
        return await self._read(SQL[name], arguments)

    async def _read(self, sql: str, arguments: Any) -> list[sqlite3.Row]:
        return await self._database.read(lambda c: c.execute(sql, arguments).fetchall())


def _numbered(*arguments: object) -> dict[str, object]:
    """Names arguments by number: Python takes ?1 and ?2 for names, which it finds only in a mapping."""
    return {str(number): argument for number, argument in enumerate(arguments, 1)}


def _count_again(tx: sqlite3.Connection, links: Sequence[str], days: Range) -> int:
    [forgotten] = tx.execute(SQL["forgotten"]).fetchone()
    first, last = max(days[0], -(-forgotten // DAY)), days[1]
    if first >= last:
        return 0
    _clear(tx, _json(links), (first, last))
    found, counted = tx.execute(SQL["all_of"], {"links": _json(links)} | _moments((first, last))), 0
    while rows := found.fetchmany(COUNTED_AT_A_TIME):
        _count(tx, VisitTally(event_of(row, from_us(row["at"])) for row in rows))
        counted += len(rows)
    return counted


def _erased(tx: sqlite3.Connection, events: Sequence[TalliedVisit]) -> Mapping[str, datetime]:
    links = _json(list({event.visit.link_id for event in events}))
    rows = tx.execute(SQL["erased"], {"links": links})
    return {row["link_id"]: from_us(row["erased_until"]) for row in rows}


def _count_what_is_left(tx: sqlite3.Connection, asked: Mapping[str, Any]) -> None:
    """Drops all counts of a link; visits that came after the erasure had begun are counted again."""
    for name in ERASED_COUNTS:
        tx.execute(SQL[name], asked)
    left = tx.execute(SQL["all_of"], {"links": _json([asked["link_id"]])} | _moments((FIRST_DAY, LAST_DAY)))
    while rows := left.fetchmany(COUNTED_AT_A_TIME):
        _count(tx, VisitTally(event_of(row, from_us(row["at"])) for row in rows))


def _clear(tx: sqlite3.Connection, links: str, days: Range) -> None:
    """Drops what was counted of some days; sums keep what was counted of others."""
    hours, stretches = (days[0] * DAY_HOURS, days[1] * DAY_HOURS), stretches_of(days)
    asked = {"links": links, "dimensions": _json(DIMENSIONS), "first": days[0], "last": days[1]}
    asked |= {"first_hour": hours[0], "last_hour": hours[1]}
    asked |= {"first_stretch": stretches[0], "last_stretch": stretches[1]}
    for name in ("clear_days", "clear_visitors", "clear_hours", "clear_arrivals"):
        tx.execute(SQL[name], asked)
    for length, (first, last) in ((1, hours), (DAY_HOURS, days), (DAY_HOURS * STRETCH, stretches)):
        tx.execute(SQL["clear_values"], asked | {"hours": length, "first_period": first, "last_period": last})
    for name in ("add_up_stretches", "add_up_totals"):
        tx.execute(SQL[name], asked)


def _count(tx: sqlite3.Connection, tally: VisitTally) -> None:
    """Adds a tally to what was counted."""
    visitors = tally.visitors()
    known = {row[:3]: hours for row in visitors for (hours,) in tx.execute(SQL["seen"], row[:3])}
    arrivals = arrive(visitors, known)
    tx.executemany(SQL["see"], arrivals.seen)
    tx.executemany(SQL["count_arrivals"], arrivals.counted)
    tx.executemany(SQL["drop_arrivals"], [row[:3] for row in arrivals.counted if row[3] < 0])
    days = tally.days(arrivals.new)
    tx.executemany(SQL["count_totals"], totals(days))
    tx.executemany(SQL["count_days"], days)
    tx.executemany(SQL["count_hours"], tally.hours())
    tx.executemany(SQL["count_values"], tally.values())


def _row(event: TalliedVisit) -> tuple[Any, ...]:
    visit_id, link_id, at, *rest = row_of(event)
    return (visit_id, link_id, to_us(at), *rest)


def _moments(days: Range) -> dict[str, int]:
    return {"start": days[0] * DAY, "end": days[1] * DAY}


def _flat(ranges: Iterable[Sequence[int]]) -> list[int]:
    return [number for each in ranges for number in each]


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()
