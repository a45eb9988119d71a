"""What all stores of visits keep in the same form, whatever their backend."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from waypost.sharing.visits.spans import DAY_HOURS, HOUR, from_us
from waypost.sharing.visits.store import DIMENSIONS, Bucket, Step
from waypost.sharing.visits.tally import TalliedVisit
from waypost.sharing.visits.visit import Visit

# The column of an event that has what a dimension is about.
COLUMN_OF: Mapping[str, str] = {dimension: dimension for dimension in DIMENSIONS} | {"referrer": "referrer_host"}

# Events read at a time, and links counted again in one transaction.
EVENTS_AT_A_TIME, LINKS_AT_A_TIME = 1000, 500
# Events counted again at a time; where a transaction would have more, it takes a day instead of a stretch of them.
COUNTED_AT_A_TIME = 20_000

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
