"""Where visits and their counts are kept."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from waypost.kernel.errors import TerminalError
from waypost.sharing.visits.visit import Visit

Step = Literal["hour", "day"]
# What visits are counted by, besides time.
DIMENSIONS = ("referrer", "browser", "device", "system", "language", "country")


class Span(msgspec.Struct, frozen=True):
    """From `start` up to, but not including, `end`; None means unbounded."""

    start: datetime | None = None
    end: datetime | None = None


class Counted(msgspec.Struct, frozen=True):
    """Visits by people and by bots, and how many distinct people, each counted once a day."""

    visits: int = 0
    visitors: int = 0
    bots: int = 0


class Bucket(msgspec.Struct, frozen=True):
    """An hour or a day of a series (UTC). Visitors are told apart within a day, so an hour's are those seen in it."""

    at: datetime
    visits: int
    bots: int


class KeptCount(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One number, or a few, that were counted of a link's visits; fields that say nothing here are left out.

    `of` is `all` (its visits at all times), `day`, `hour`, `value` (visits with a value of a dimension, in a period of
    so many `hours`), `visitor` (a hash, and the `seen` hours of that day), or `arrivals` (visitors of an hour who were
    `last_here` in that one). `at` is when the period begins.
    """

    of: Literal["all", "day", "hour", "value", "visitor", "arrivals"]
    at: datetime | None = None
    hours: int = 0
    visits: int = 0
    visitors: int = 0
    bots: int = 0
    dimension: str = ""
    value: str = ""
    visitor: str = ""
    seen: tuple[int, ...] = ()
    last_here: datetime | None = None


class ErasedVisits(msgspec.Struct, frozen=True):
    """`overwritten`: no file of the store holds them any more."""

    visits: int
    overwritten: bool


class VisitsRefused(TerminalError):
    """The store will never take a visit of this batch, for what is in it; nothing of the batch was kept."""

    slug = "visits-refused"


class VisitStore(Protocol):
    """Append-only events, and projections of them that are brought up to date in the same transaction."""

    async def append(self, visits: Sequence[Visit]) -> int:
        """Keep visits and count them; those already kept change nothing. Returns how many were new.

        Visits of a link that are not later than its last erasure are left out, however late they come.

        Raises VisitsRefused, and keeps none, when one of them has something in it that the store cannot hold.
        """
        ...

    async def count(self, link_ids: Sequence[str]) -> Mapping[str, int]:
        """Visits by people, for each link that has any: one read of a projection, however many visits there are."""
        ...

    async def totals(self, link_id: str, span: Span) -> Counted:
        """Exact for any span: whole days and hours come from projections, the edges from events.

        Where events were dropped, incomplete hours at the edges count as nothing.
        """
        ...

    async def series(self, link_id: str, span: Span, step: Step) -> Sequence[Bucket]:
        """Only buckets in which something happened, oldest first; those at the edges count only what is inside."""
        ...

    async def top(self, link_id: str, span: Span, dimension: str, limit: int) -> Sequence[tuple[str, int]]:
        """The values of a dimension by number of visits by people, most first, then by name; "" means unknown."""
        ...

    def events(self, link_id: str, span: Span) -> AsyncIterator[Sequence[Visit]]:
        """All visits of a link, oldest first, in batches; visits that come in meanwhile may or may not be included."""
        ...

    def counts(self, link_id: str) -> AsyncIterator[Sequence[KeptCount]]:
        """All that was counted of a link's visits, in batches, as it is kept."""
        ...

    async def rebuild(self, on_progress: Callable[[int], None]) -> int:
        """Make all projections again from the events; returns how many events there are. Appending goes on beside it.

        Link by link and stretch by stretch, each in a transaction of its own. Days whose events were dropped stay as
        they are. `on_progress` is called with the number of events counted so far.
        """
        ...

    async def forget(self, before: datetime, limit: int) -> int:
        """Drop at most `limit` events older than `before`, never their counts; returns how many."""
        ...

    async def erase(self, link_id: str, until: datetime) -> ErasedVisits:
        """Drop all visits of a link up to a moment, and all that was counted of them, for good.

        Appending goes on beside it. Done again after it broke off, it ends what it began.
        """
        ...
