"""What all stores of visits keep in the same form, whatever their backend."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from waypost.sharing.visits.spans import DAY, DAY_HOURS, HOUR, from_us
from waypost.sharing.visits.store import DIMENSIONS, Bucket, KeptCount, Step
from waypost.sharing.visits.tally import TalliedVisit
from waypost.sharing.visits.visit import Visit

# The column of an event that has what a dimension is about.
COLUMN_OF: Mapping[str, str] = {dimension: dimension for dimension in DIMENSIONS} | {"referrer": "referrer_host"}

# Events read at a time, and links counted again in one transaction.
EVENTS_AT_A_TIME, LINKS_AT_A_TIME = 1000, 500
# Events counted again at a time; where a transaction would have more, it takes a day instead of a stretch of them.
COUNTED_AT_A_TIME = 20_000

# Rows that an erasure drops in one transaction, and the statements that drop all that was counted of a link.
ERASED_AT_A_TIME = 5000
ERASED_COUNTS = (
    "erase_days",
    "erase_hours",
    "erase_values",
    "erase_visitors",
    "erase_arrivals",
    "erase_totals",
)

# The tables of what was counted, with their keys beside the link, and a value before the first of each.
_NEVER = -(2**31)
COUNTED: Mapping[str, Mapping[str, int | str]] = {
    "visit_days": {"day": _NEVER},
    "visit_hours": {"hour": _NEVER},
    "visit_values": {"dimension": "", "hours": 0, "period": _NEVER, "value": ""},
    "visit_visitors": {"day": _NEVER, "visitor": ""},
    "visit_arrivals": {"hour": _NEVER, "last_here": _NEVER},
}

# What a visit has besides its id, its link and its time.
_TOLD = Visit.__struct_fields__[3:]


def row_of(event: TalliedVisit) -> tuple[Any, ...]:
    """The columns of the table of events, which are the fields in their order."""
    visit, *agent = msgspec.structs.astuple(event)
    return (*msgspec.structs.astuple(visit), *agent)


def visit_of(row: Any, at: datetime) -> Visit:
    return Visit(row["id"], row["link_id"], at, *(row[name] for name in _TOLD))


def event_of(row: Any, at: datetime) -> TalliedVisit:
    return TalliedVisit(visit_of(row, at), row["browser"], row["device"], row["system"], is_bot=bool(row["bot"]))


def is_erased(event: TalliedVisit, erased: Mapping[str, datetime]) -> bool:
    """Whether a visit is not later than the last erasure of its link; `erased` has those by link."""
    until = erased.get(event.visit.link_id)
    return until is not None and event.visit.at <= until


def buckets_of(rows: Iterable[Any], step: Step) -> Sequence[Bucket]:
    """Adds up the rows of each hour, or of each day under its first hour."""
    found: dict[int, tuple[int, int]] = {}
    size = DAY_HOURS if step == "day" else 1
    for hour, visits, bots in rows:
        if visits or bots:
            start = hour // size * size
            before = found.get(start, (0, 0))
            found[start] = before[0] + visits, before[1] + bots
    return [Bucket(from_us(hour * HOUR), *counts) for hour, counts in sorted(found.items())]


def total_of(row: Any) -> KeptCount:
    return KeptCount(of="all", visits=row["visits"], visitors=row["visitors"], bots=row["bots"])


def count_of(table: str, row: Any) -> KeptCount:
    """A row of one of the tables of what was counted."""
    if table == "visit_values":
        given = {name: row[name] for name in ("hours", "dimension", "value", "visits")}
        return KeptCount(of="value", at=from_us(row["period"] * row["hours"] * HOUR), **given)
    if table == "visit_days":
        counts = {name: row[name] for name in ("visits", "visitors", "bots")}
        return KeptCount(of="day", at=from_us(row["day"] * DAY), **counts)
    if table == "visit_hours":
        return KeptCount(of="hour", at=from_us(row["hour"] * HOUR), visits=row["visits"], bots=row["bots"])
    if table == "visit_visitors":
        seen = tuple(hour for hour in range(DAY_HOURS) if row["hours"] >> hour & 1)
        return KeptCount(of="visitor", at=from_us(row["day"] * DAY), visitor=row["visitor"], seen=seen)
    last_here = from_us(row["last_here"] * HOUR)
    return KeptCount(of="arrivals", at=from_us(row["hour"] * HOUR), last_here=last_here, visitors=row["visitors"])


def counted_statement(table: str, place: Callable[[int], str]) -> str:
    """Reads the next rows of a link: arguments are the link, the key of the row before, and how many."""
    keys = ", ".join(COUNTED[table])
    places = ", ".join(place(number) for number in range(2, len(COUNTED[table]) + 2))
    last = place(len(COUNTED[table]) + 2)
    return f"select * from {table} where link_id = {place(1)} and ({keys}) > ({places}) order by {keys} limit {last}"  # noqa: S608 - all of it is ours
