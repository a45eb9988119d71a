"""A source is our client for one kind of provider: it plans shards and fetches pages."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from typing import Literal, Protocol

import msgspec

from waypost.importing.cuts import Axis, IdRange
from waypost.importing.geography import Box
from waypost.importing.windows import Grid
from waypost.kernel.errors import AskedWrongly, Forbidden, NotNow, TerminalError, TransientError
from waypost.places.licence import Licence
from waypost.places.place import Place
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.ratelimit.budget import Advice


class ProviderUnavailable(TransientError):
    """The provider could not be reached, or sent something that is not an answer."""


class ProviderAway(NotNow):
    """Nothing comes from the provider: that is its own fault, and no shard's attempts are spent on it."""


class ProviderRefused(NotNow):
    """The provider asks us to slow down; `retry_after` is for how many seconds, if it said so."""

    def __init__(self, message: str, *, retry_after: float | None) -> None:
        super().__init__(message, retry_in=retry_after or 0.0)
        self.retry_after = retry_after


class AccessDenied(Forbidden):
    """The provider does not accept our key."""


class OutsideScope(TerminalError):
    """The provider sent what the shard did not ask for; taking it in would break the promise of disjoint shards."""


class StuckCursor(TerminalError):
    """The provider's next page starts where an earlier one did, so that the shard would never end."""


class EmptyPage(TerminalError):
    """The provider sent nothing, and yet says that there is more."""


class BadCursor(TerminalError):
    """A job's cursor was not written by this release's source."""


class BadScope(AskedWrongly):
    """A scope cannot be read, or contradicts itself."""


class Scope(msgspec.Struct, frozen=True):
    """What to import: all there is, or all of some countries or of a box, or what changed there in `[since, until)`.

    `window` is the largest grid that the time is cut on. `refresh` asks for everything again, whatever was done before,
    and with `allow_mass_delete` it removes whatever the provider no longer has, however much that is.
    """

    countries: tuple[str, ...] = ()
    bbox: Box | None = None
    since: datetime | None = None
    until: datetime | None = None
    window: Grid = "1mo"
    refresh: bool = False
    allow_mass_delete: bool = False

    def __post_init__(self) -> None:
        if self.countries and self.bbox:
            raise BadScope("a scope has either countries or a box, not both", parameter="bbox")
        if self.until and not self.since:
            raise BadScope("--until needs --since: a window has two ends", parameter="since")
        if self.since and not self.until:
            raise BadScope("--since needs --until: a window has two ends", parameter="until")
        if self.since and self.until and self.since >= self.until:
            raise BadScope("the window ends before it starts: --since must be earlier than --until", parameter="until")
        if self.refresh and self.since:
            raise BadScope("--refresh asks for everything, --since for what changed: choose one", parameter="refresh")
        if self.allow_mass_delete and not self.refresh:
            raise BadScope("--allow-mass-delete goes with --refresh, which finds deletions", parameter="refresh")


class Extent(msgspec.Struct, frozen=True):
    """Where the places of a shard lie: in an area of a source (all of it, if empty) and a range of numbers there."""

    source: str
    area: str = ""
    numbers: IdRange = IdRange()


class Fetched(msgspec.Struct, frozen=True):
    """One place with the provider's record as it came, and its number in the order in which the source reads."""

    place: Place
    record: bytes
    number: int = 0


class Reject(msgspec.Struct, frozen=True):
    """A record that could not be understood, with the reason; it is kept, counted and shown.

    The external id, if known, keeps us from treating the place that it was before as deleted.
    """

    record: bytes
    reason: str
    external_id: str | None = None


class Remembered(msgspec.Struct, frozen=True):
    """An answer that the provider has named (its ETag), what it held, and when it was asked for: none of its places
    has changed here since.
    """

    etag: str
    external_ids: tuple[str, ...]
    cursor: str | None
    last: bool
    covers: IdRange | None
    requested_at: datetime | None = None


class Page(msgspec.Struct, frozen=True):
    """What one request brought. `cursor` is where the next page starts; `last` says that there is none.

    `advice` is what the provider said about how many requests are left, `received` how many records its answer had,
    whether or not we keep them. `covers` are the numbers for which this page has everything that there is: a place that
    we hold there, and the page lacks, is gone. A page is `truncated` when the provider has more and will not send it,
    whatever we ask next.

    `etag` is the provider's name for this answer. When the provider says that a named answer has not changed, the page
    has nothing but the ids that are `still` as they were.

    `moved` says why the pages so far are not those of one list, in words for people ("the total changed from 30 to 31
    while it was read"): a place that is there may have slipped through between two of them, and nothing is removed when
    the shard ends. On the last page, `certain` is false if nothing would have shown that: then a place is gone only
    when two imports in a row have missed it.

    A list that is `at_rest` cannot move, such as a file that nobody has written to; an id that occurs twice in it is a
    flaw of the list.
    """

    fetched: tuple[Fetched, ...]
    rejects: tuple[Reject, ...]
    cursor: str | None
    last: bool
    advice: Advice | None = None
    received: int | None = None
    covers: IdRange | None = None
    truncated: bool = False
    etag: str | None = None
    still: tuple[str, ...] = ()
    moved: str | None = None
    certain: bool = True
    at_rest: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.fetched or self.rejects or self.received or self.still)

    @property
    def hides_some(self) -> bool:
        """Whether it has records without an id: any place that is missing may be one of them."""
        return any(reject.external_id is None for reject in self.rejects)


# What a source can plan by: all there is, all of a country or a box, and what changed there in a window.
PlanAxis = Literal["all", "country", "box", "window"]


class Source(Protocol):
    @property
    def name(self) -> str:
        """What shard keys and external ids begin with: lower-case letters, digits and hyphens."""

    @property
    def licence(self) -> Licence: ...

    @property
    def provider(self) -> str:
        """The provider's address, without secrets."""

    @property
    def budget_key(self) -> str | None:
        """What the budget is counted by: the source's name, ":" and a hash of our key, never the key itself.

        None where no provider is asked, as for local files.
        """

    @property
    def plans(self) -> frozenset[PlanAxis]: ...

    @property
    def cuts(self) -> frozenset[Axis]: ...

    def plan(self, scope: Scope, day: date, import_id: str | None = None) -> list[ShardKey]:
        """The keys of a scope's shards, which cover it and do not overlap; the same for the same arguments.

        A full import belongs to a day in UTC, a refresh to its import, and a window to itself. Raises UnsupportedScope.
        """

    async def check(self) -> None:
        """One small request that fails the way the import would: AccessDenied, ProviderUnavailable."""

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        """The shard's next page. Raises BadShardKey for a shard that this source did not plan."""

    def question(self, shard: ShardKey, cursor: str | None) -> str | None:
        """What `fetch` would ask, in words that stay the same from one import to the next, without secrets.

        None where answers need not be remembered, because the provider does not name them.
        """

    async def fetch_if_changed(self, shard: ShardKey, cursor: str | None, known: Remembered) -> Page:
        """Like `fetch`, for a question whose last answer is remembered."""

    def extent(self, shard: ShardKey) -> Extent:
        """Where the places of a shard lie, whatever its period is."""

    def rest(self, shard: ShardKey, page: Page) -> Sequence[ShardKey]:
        """Returns shards for several workers that hold exactly what is left of this one after the page; none if it
        cannot be cut. After a truncated page, the whole shard is left.
        """

    async def close(self) -> None: ...


# Opens the source of this name. Raises AskedWrongly where there is none, or it cannot be used.
OpenSource = Callable[[str], AbstractAsyncContextManager[Source]]
