"""Imports by the clock: what changed at a provider, window by window, and everything once a day."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from waypost.importing.plan import parse_countries, shards_of
from waypost.importing.source import PlanAxis, Scope
from waypost.kernel.configuration import setting
from waypost.kernel.errors import AskedWrongly
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.schedules.schedule import parse_time_of_day

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_WINDOWS = {"1h": _HOUR, "1d": _DAY}
_PLANS: frozenset[PlanAxis] = frozenset({"all", "country", "window"})


def _read_countries(text: str) -> tuple[str, ...]:
    """An empty text names no country, for a source that has none."""
    try:
        return parse_countries(text).countries if text else ()
    except AskedWrongly as error:
        raise ValueError(str(error)) from None


def _read_window(text: str) -> timedelta:
    if text not in _WINDOWS:
        raise ValueError(f"{text[:40]!r} is not how often a window can be asked for; choose 1h or 1d")
    return _WINDOWS[text]


def _read_day(text: str) -> timedelta:
    if text != "1d":
        raise ValueError(f"{text[:40]!r} is not how often everything can be asked for; there is 1d")
    return _DAY


@dataclass(frozen=True)
class ImportSchedule(ABC):
    """What windows and full imports have in common; a subclass says what it asks for between two lines."""

    is_awaited: ClassVar[bool] = True
    source: str = setting("source", "ocm", "which kind of provider to ask")
    countries: tuple[str, ...] = setting("country", "", "countries, by their ISO codes", _read_countries)

    @property
    def scope(self) -> str:
        return ",".join(self.countries)

    @abstractmethod
    def asks(self, start: datetime, end: datetime) -> Scope: ...

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:
        return shards_of(self.asks(start, end), end.date(), None, source=self.source, plans=_PLANS)


@dataclass(frozen=True)
class WindowsSchedule(ImportSchedule):
    """Imports each hour or day that is over, once. After a time away, the rest takes the largest windows that fit."""

    what: ClassVar[str] = "windows"
    at: ClassVar[timedelta] = timedelta()
    # Providers' clocks are not ours, and what they have just been told may take a moment to show.
    settling: ClassVar[timedelta] = timedelta(minutes=1)
    every: timedelta = setting("every", "1h", "how often what changed is asked for", _read_window)

    def asks(self, start: datetime, end: datetime) -> Scope:
        return Scope(self.countries, since=start, until=end)


@dataclass(frozen=True)
class FullSchedule(ImportSchedule):
    """Imports everything once a day; after a time away, only for the latest day, which brings what the others would."""

    what: ClassVar[str] = "full"
    settling: ClassVar[timedelta] = timedelta()
    every: timedelta = setting("every", "1d", "how often everything is asked for", _read_day)
    at: timedelta = setting("at", "00:00", "when, in UTC", parse_time_of_day)

    def asks(self, start: datetime, end: datetime) -> Scope:  # noqa: ARG002 - as a window asks
        return Scope(self.countries)
