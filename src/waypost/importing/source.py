"""A source is our client for one kind of provider: it plans shards and fetches pages."""

from datetime import date
from typing import Protocol

import msgspec

from waypost.kernel.errors import Forbidden, TerminalError, TransientError
from waypost.places.place import Place
from waypost.scaling.jobs.shards import ShardKey


class ProviderUnavailable(TransientError):
    """The provider could not be reached, or answered with something that is no answer."""

    slug = "provider-unavailable"


class ProviderRefused(TransientError):
    """The provider asks us to slow down. `retry_after` is in seconds, as the provider said it."""

    slug = "provider-refused"

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class AccessDenied(Forbidden):
    """The provider does not accept our key."""

    slug = "access-denied"


class OutsideScope(TerminalError):
    """The provider sent what the shard did not ask for; taking it in would break the promise of disjoint shards."""

    slug = "outside-scope"


class Scope(msgspec.Struct, frozen=True):
    """What to import."""

    countries: tuple[str, ...]


class Fetched(msgspec.Struct, frozen=True):
    """One place with the provider's record as it came."""

    place: Place
    record: bytes


class Reject(msgspec.Struct, frozen=True):
    """A record that could not be understood, with the reason; it is kept, counted and shown."""

    record: bytes
    reason: str


class Page(msgspec.Struct, frozen=True):
    """What one request brought. `cursor` is where the next page starts; `last` says that there is none."""

    fetched: tuple[Fetched, ...]
    rejects: tuple[Reject, ...]
    cursor: str | None
    last: bool


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

    def plan(self, scope: Scope, day: date) -> list[ShardKey]: ...

    async def check(self) -> None:
        """One small request that fails the way the import would: AccessDenied, ProviderUnavailable."""
        ...

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page: ...
