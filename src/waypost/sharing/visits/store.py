"""Where visits are kept, and what is counted from them."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from waypost.sharing.visits.visit import Visit

Step = Literal["hour", "day"]
# What visits are counted by, beside time.
DIMENSIONS = ("referrer", "browser", "device", "system", "language", "country")


class Span(msgspec.Struct, frozen=True):
    """From a moment on, until just before another; None is for no end."""

    start: datetime | None = None
    end: datetime | None = None


class Counted(msgspec.Struct, frozen=True):
    """Visits by people and by bots, and how many different people, each counted once a day."""

    visits: int = 0
    visitors: int = 0
    bots: int = 0


class Bucket(msgspec.Struct, frozen=True):
    """An hour or a day of a series (UTC). Visitors are told apart within a day, so an hour's are those seen in it."""

    at: datetime
    visits: int
    bots: int


class VisitStore(Protocol):
    """Append-only events, and projections of them that are brought up to date in the same transaction."""

    async def append(self, visits: Sequence[Visit]) -> int:
        """Keep visits and count them; those that are there already change nothing. Returns how many were new."""
        ...

    async def count(self, link_ids: Sequence[str]) -> Mapping[str, int]:
        """Visits by people, for each link that has any: one look at a projection, whatever the number of visits."""
        ...

    async def totals(self, link_id: str, span: Span) -> Counted:
        """Exact for any span: whole days and hours come from projections, the edges from events.

        Where events were dropped, what is left of an hour at an edge counts for nothing.
        """
        ...

    async def series(self, link_id: str, span: Span, step: Step) -> Sequence[Bucket]:
        """Only buckets in which something happened, oldest first; those at the edges as far as they are inside."""
        ...

    async def top(self, link_id: str, span: Span, dimension: str, limit: int) -> Sequence[tuple[str, int]]:
        """The values of a dimension by number of visits by people, most first, then by name; "" is for unknown."""
        ...

    def events(self, link_id: str, span: Span) -> AsyncIterator[Sequence[Visit]]:
        """All visits of a link, oldest first, in batches; what comes in meanwhile may or may not be among them."""
        ...

    async def rebuild(self, on_progress: Callable[[int], None]) -> int:
        """Make all projections again from the events; returns how many events there are. Appending goes on beside it.

        Link by link and stretch by stretch, each in a transaction of its own. Days of which events were dropped stay
        as they are. `on_progress` hears how many events are counted so far.
        """
        ...

    async def forget(self, before: datetime, limit: int) -> int:
        """Drop at most `limit` events older than that, never what was counted from them; returns how many."""
        ...
