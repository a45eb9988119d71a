"""Visits on PostgreSQL.

A process that counts visits of a link holds the link's row of totals until the end of the transaction. So what is
counted of a link changes in one transaction after another, and counting again goes on beside counting.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.postgres.errors import REFUSALS, why_refused
from waypost.adapters.queries import load_queries
from waypost.adapters.visit_rows import (
    COLUMN_OF,
    COUNTED,
    COUNTED_AT_A_TIME,
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
    HOUR,
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
from waypost.sharing.visits.tally import VisitTally, read_agents, totals
from waypost.sharing.visits.visit import Visit

SQL = load_queries(__package__, "visits.sql")

_START, _END = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
# Counting a stretch of a busy link again may take a while; a process that ships visits rather tries again later.
_PATIENCE = 600.0


class PostgresVisitStore(PostgresStore):
    async def append(self, visits: Sequence[Visit]) -> int:
        # In a thread: a visitor who follows a link now should not wait until the agents of earlier ones are read.
        events = await asyncio.to_thread(read_agents, visits)
        if not events:
            return 0
        try:
            async with self._database.transaction() as tx:
                erased = await _hold(tx, {event.visit.link_id for event in events})
                events = [event for event in events if not is_erased(event, erased)]
                if not events:
                    return 0
                added = set(await tx.fetchval(SQL["add"], *_storable(list(map(row_of, events)))))
                tally = await asyncio.to_thread(VisitTally, [event for event in events if event.visit.id in added])
                await _count(tx, tally)
        except REFUSALS as error:
            raise VisitsRefused(f"PostgreSQL refuses it: {why_refused(error)}") from error
        return len(added)

    async def count(self, link_ids: Sequence[str]) -> Mapping[str, int]:
        rows = await self._database.fetch(SQL["count"], link_ids)
        return {row["link_id"]: row["visits"] for row in rows}

    async def totals(self, link_id: str, span: Span) -> Counted:
        asked = cover(span)
        rest = *_moments(asked.moments), *_flat(*map(asked.beside, asked.moments))
        [row] = await self._database.fetch(SQL["totals"], link_id, *_flat(asked.days, *asked.hours), *rest)
        return Counted(row["visits"], row["visitors"], row["bots"])

    async def series(self, link_id: str, span: Span, step: Step) -> Sequence[Bucket]:
        asked = cover_by(step, span)
        hours = [start // HOUR for start, _ in asked.moments]
        rows = await self._database.fetch(
            SQL["series"], link_id, *_flat(asked.days, *asked.hours), *_moments(asked.moments), *hours
        )
        return buckets_of(rows, step)

    async def top(self, link_id: str, span: Span, dimension: str, limit: int) -> Sequence[tuple[str, int]]:
        asked, periods = cover(span), by_value(span)
        pieces = _flat(periods.stretches, *periods.days, *periods.hours)
        rows = await self._database.fetch(
            SQL["top"].replace("{column}", COLUMN_OF[dimension]),
            *(link_id, dimension, *pieces, *_flat(asked.days, *asked.hours), *_moments(asked.moments), limit),
        )
        return [(row["value"], row["visits"]) for row in rows]

    async def events(self, link_id: str, span: Span) -> AsyncIterator[Sequence[Visit]]:
        behind, end = (span.start or _START, ""), span.end or _END
        while rows := await self._database.fetch(SQL["events"], link_id, *behind, end, EVENTS_AT_A_TIME):
            yield [visit_of(row, row["at"]) for row in rows]
            behind = rows[-1]["at"], rows[-1]["id"]

    async def counts(self, link_id: str) -> AsyncIterator[Sequence[KeptCount]]:
        yield [total_of(row) for row in await self._database.fetch(SQL["totals_of"], link_id)]
        for table, first in COUNTED.items():
            sql, behind = counted_statement(table, lambda number: f"${number}"), tuple(first.values())
            while rows := await self._database.fetch(sql, link_id, *behind, EVENTS_AT_A_TIME):
                yield [count_of(table, row) for row in rows]
                behind = tuple(rows[-1][name] for name in first)

    async def forget(self, before: datetime, limit: int) -> int:
        async with self._database.transaction() as tx:
            await tx.fetch(SQL["remember"], to_us(before))
            return int(await tx.fetchval(SQL["forget"], before, limit, timeout=_PATIENCE))

    async def erase(self, link_id: str, until: datetime) -> ErasedVisits:
        async with self._database.transaction() as tx:
            await _hold(tx, [link_id], timeout=_PATIENCE)
            await tx.execute(SQL["begin_erasing"], link_id, until)
        deleted = await self._database.run(
            lambda connection: connection.execute(SQL["erase_events"], link_id, until, timeout=_PATIENCE)
        )
        async with self._database.transaction() as tx:
            await _hold(tx, [link_id], timeout=_PATIENCE)
            for name in ERASED_COUNTS:
                await tx.execute(SQL[name], link_id, timeout=_PATIENCE)
            # Visits that came after the erasure had begun.
            left = await tx.cursor(SQL["all_of"], [link_id], _START, _END)
            while rows := await left.fetch(COUNTED_AT_A_TIME, timeout=_PATIENCE):
                await _count(tx, VisitTally(event_of(row, row["at"]) for row in rows), timeout=_PATIENCE)
        # What is deleted stays in the server's files until it is vacuumed, and in its log and its backups.
        return ErasedVisits(int(deleted.rpartition(" ")[2]), overwritten=False)

    async def rebuild(self, on_progress: Callable[[int], None]) -> int:
        counted, after = 0, ""
        while rows := await self._database.fetch(SQL["links"], after, LINKS_AT_A_TIME):
            links = [row["link_id"] for row in rows]
            async for days in self._windows(links):
                counted += await self._count_again(links, days)
                on_progress(counted)
            after = links[-1]
        return counted

    async def _windows(self, links: Sequence[str]) -> AsyncIterator[Range]:
        """Yields few days at a time where there are many events, so that others who count visits need not wait long."""
        [ages] = await self._database.fetch(SQL["ages"])
        for window in windows(*ages):
            asked = links, *map(_day_start, window), COUNTED_AT_A_TIME + 1
            [(found,)] = await self._database.fetch(SQL["how_many"], *asked, timeout=_PATIENCE)
            for days in single_days(window, *ages) if found > COUNTED_AT_A_TIME else [window]:
                yield days

    async def _count_again(self, links: Sequence[str], window: Range) -> int:
        async with self._database.transaction() as tx:
            forgotten = await tx.fetchval(SQL["forgotten"])
            days = max(window[0], -(-forgotten // DAY)), window[1]
            if days[0] >= days[1]:
                return 0
            await _hold(tx, links, timeout=_PATIENCE)
            await _clear(tx, links, days)
            found, counted = await tx.cursor(SQL["all_of"], links, *map(_day_start, days)), 0
            while rows := await found.fetch(COUNTED_AT_A_TIME, timeout=_PATIENCE):
                await _count(tx, VisitTally(event_of(row, row["at"]) for row in rows), timeout=_PATIENCE)
                counted += len(rows)
            return counted


async def _hold(tx: Any, links: Iterable[str], timeout: float | None = None) -> Mapping[str, datetime]:
    """Holds links until the end of the transaction; returns until when visits were erased, of those that had some."""
    chosen = list(links)
    await tx.execute(SQL["begin"], chosen, timeout=timeout)
    rows = await tx.fetch(SQL["hold"], chosen, timeout=timeout)
    return {row["link_id"]: row["erased_until"] for row in rows if row["erased_until"] is not None}


async def _count(tx: Any, tally: VisitTally, timeout: float | None = None) -> None:
    """Adds a tally to what was counted."""
    visitors = tally.visitors()
    seen = await _run(tx, "seen", [row[:3] for row in visitors], timeout)
    arrivals = arrive(visitors, {(link, day, visitor): hours or 0 for link, day, visitor, hours in seen})
    await _run(tx, "see", arrivals.seen, timeout)
    await _run(tx, "count_arrivals", arrivals.counted, timeout)
    await _run(tx, "drop_arrivals", [row[:3] for row in arrivals.counted if row[3] < 0], timeout)
    days = tally.days(arrivals.new)
    await _run(tx, "count_totals", totals(days), timeout)
    await _run(tx, "count_days", days, timeout)
    await _run(tx, "count_hours", tally.hours(), timeout)
    await _run(tx, "count_values", tally.values(), timeout)


async def _clear(tx: Any, links: Sequence[str], days: Range) -> None:
    """Drops what was counted of some days; sums keep what was counted of others."""
    hours, stretches = tuple(day * DAY_HOURS for day in days), stretches_of(days)
    for name, arguments in (
        ("clear_days", days),
        ("clear_visitors", days),
        ("clear_hours", hours),
        ("clear_arrivals", hours),
        ("clear_values", (DIMENSIONS, 1, *hours)),
        ("clear_values", (DIMENSIONS, DAY_HOURS, *days)),
        ("clear_values", (DIMENSIONS, DAY_HOURS * STRETCH, *stretches)),
        ("add_up_stretches", (DIMENSIONS, *stretches)),
        ("add_up_totals", ()),
    ):
        await tx.execute(SQL[name], links, *arguments, timeout=_PATIENCE)


async def _run(tx: Any, name: str, rows: Sequence[tuple[Any, ...]], timeout: float | None = None) -> list[Any]:
    """Runs a statement that takes rows as columns."""
    found: list[Any] = await tx.fetch(SQL[name], *zip(*rows, strict=True), timeout=timeout) if rows else []
    return found


def _storable(rows: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
    """Columns without the one character that JSON has and PostgreSQL lacks: it would hold up all other visits."""
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    for at, column in enumerate(columns):
        if isinstance(column[0], str) and "\0" in "".join(column):
            columns[at] = [text.replace("\0", "") for text in column]
    return columns


def _flat(*ranges: Sequence[int]) -> list[int]:
    return [number for each in ranges for number in each]


def _moments(*pairs: tuple[Range, Range]) -> list[datetime]:
    return [from_us(moment) for pair in pairs for each in pair for moment in each]


def _day_start(day: int) -> datetime:
    return from_us(min(max(day * DAY, to_us(_START)), to_us(_END)))
