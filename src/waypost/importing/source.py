"""A source is our client for one kind of provider: it plans shards and fetches pages."""

from datetime import date, datetime
from typing import Literal, Protocol

import msgspec

from waypost.importing.cuts import Axis
from waypost.importing.geography import Box
from waypost.importing.windows import Grid
from waypost.kernel.errors import AskedWrongly, Forbidden, NotNow, TerminalError, TransientError
from waypost.places.place import Place
from waypost.scaling.jobs.shards import ShardKey
from waypost.scaling.ratelimit.budget import Advice


class ProviderUnavailable(TransientError):
    """The provider could not be reached, or answered with something that is no answer."""

    slug = "provider-unavailable"


class ProviderRefused(NotNow):
    """The provider asks us to slow down; `retry_after` is for how many seconds, if it said so."""

    slug = "provider-refused"

    def __init__(self, message: str, *, retry_after: float | None) -> None:
        super().__init__(message, retry_in=retry_after or 0.0)
        self.retry_after = retry_after


class AccessDenied(Forbidden):
    """The provider does not accept our key."""

    slug = "access-denied"


class OutsideScope(TerminalError):
    """The provider sent what the shard did not ask for; taking it in would break the promise of disjoint shards."""

    slug = "outside-scope"


class BadScope(AskedWrongly):
    """A scope cannot be read, or contradicts itself."""

    slug = "bad-scope"


class Scope(msgspec.Struct, frozen=True):
    """What to import: all of some countries or of a box, or what changed there in `[since, until)`.

    `window` is the largest grid that the time is cut on. `refresh` asks for everything again, whatever was done before.
    """

    countries: tuple[str, ...] = ()
    bbox: Box | None = None
    since: datetime | None = None
    until: datetime | None = None
    window: Grid = "1mo"
    refresh: bool = False

    def __post_init__(self) -> None:
        if not self.countries and not self.bbox:
            raise BadScope("say what to import: --country DE,FR", parameter="country")
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


class Fetched(msgspec.Struct, frozen=True):
    """One place with the provider's record as it came."""

    place: Place
    record: bytes


class Reject(msgspec.Struct, frozen=True):
    """A record that could not be understood, with the reason; it is kept, counted and shown."""

    record: bytes
    reason: str


class Page(msgspec.Struct, frozen=True):
    """What one request brought. `cursor` is where the next page starts; `last` says that there is none.

    `advice` is what the provider said about how much more it would like to be asked.
    """

    fetched: tuple[Fetched, ...]
    rejects: tuple[Reject, ...]
    cursor: str | None
    last: bool
    advice: Advice | None = None


# Along what a source can plan: all of a country or a box, and there what changed in a window.
PlanAxis = Literal["country", "box", "window"]


class Source(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def provider(self) -> str:
        """Who is asked: the provider's address, without secrets."""
        ...

    @property
    def budget_key(self) -> str:
        """What the budget is counted by: the provider and a hash of our key, never the key itself."""
        ...

    @property
    def plans(self) -> frozenset[PlanAxis]: ...

    @property
    def cuts(self) -> frozenset[Axis]: ...

    def plan(self, scope: Scope, day: date, import_id: str | None = None) -> list[ShardKey]:
        """The keys of a scope's shards, which cover it and do not overlap; the same for the same arguments.

        A full import belongs to a day in UTC, a refresh to its import, and a window to itself. Raises UnsupportedScope.
        """
        ...

    async def check(self) -> None:
        """One small request that fails the way the import would: AccessDenied, ProviderUnavailable."""
        ...

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        """The shard's next page. Raises BadShardKey for a shard that this source did not plan."""
        ...
