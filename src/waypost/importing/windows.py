"""Time windows `[from, to)` on fixed UTC grids, so that plans that begin at different times share keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from waypost.kernel.clock import from_text, to_text
from waypost.scaling.jobs.shard_keys import BadShardKey

Grid = Literal["1h", "1d", "1mo"]
# From the finest to the coarsest; each one's lines are also lines of those before it.
GRIDS: tuple[Grid, ...] = ("1h", "1d", "1mo")

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
# Providers show a change some time after the time that they give it.
_OVERLAP = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Window:
    """The time from `start` up to, but not including, `end`; both in UTC and on whole hours."""

    start: datetime
    end: datetime

    def __str__(self) -> str:
        return f"{to_text(self.start)}..{to_text(self.end)}"

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    @property
    def asks_from(self) -> datetime:
        """Some time before its start: what a provider showed too late for the previous window is found in this one."""
        return self.start - _OVERLAP

    def reaches(self, moment: datetime) -> bool:
        """Whether the work on this window takes a record of that time."""
        return self.asks_from <= moment < self.end

    @classmethod
    def parse(cls, text: str) -> "Window":
        """The reverse of `str`. Only that one form is taken: two keys for one window would be two jobs."""
        try:
            start, end = (from_text(part) for part in text.split(".."))
        except (ValueError, OverflowError) as error:
            raise _bad(text) from error
        window = cls(start, end)
        if str(window) != text or not _is_on("1h", start) or not _is_on("1h", end):
            raise _bad(text)
        if start >= end:
            raise BadShardKey(f"the window {text!r} ends before it starts")
        return window

    def halves(self) -> tuple["Window", ...]:
        """Cuts it in two on the coarsest grid that has a line inside, days before hours; nothing for a single hour."""
        length = _DAY if _is_on("1d", self.start) and _is_on("1d", self.end) and self.end - self.start > _DAY else _HOUR
        count = (self.end - self.start) // length
        if count == 1:
            return ()
        middle = self.start + count // 2 * length
        return Window(self.start, middle), Window(middle, self.end)


def floor(grid: Grid, moment: datetime) -> datetime:
    """The last line of the grid that is not after the moment."""
    hour = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    match grid:
        case "1h":
            return hour
        case "1d":
            return hour.replace(hour=0)
        case "1mo":
            return hour.replace(hour=0, day=1)


def ceil(grid: Grid, moment: datetime) -> datetime:
    """The first line of the grid that is not before the moment."""
    line = floor(grid, moment)
    return line if line == moment else _next(grid, line)


def cover(since: datetime, until: datetime, largest: Grid) -> Iterator[Window]:
    """Windows that hold every instant of `[since, until)` once: the largest that fit between the hours around it."""
    start, end = floor("1h", since), ceil("1h", until)
    allowed = GRIDS[: GRIDS.index(largest) + 1][::-1]
    while start < end:
        stop = next(_next(grid, start) for grid in allowed if _fits(grid, start, end))
        yield Window(start, stop)
        start = stop


def _fits(grid: Grid, start: datetime, end: datetime) -> bool:
    return _is_on(grid, start) and _next(grid, start) <= end


def _is_on(grid: Grid, moment: datetime) -> bool:
    return floor(grid, moment) == moment


def _next(grid: Grid, line: datetime) -> datetime:
    match grid:
        case "1h":
            return line + _HOUR
        case "1d":
            return line + _DAY
        case "1mo":
            # No month has more than 31 days, and none fewer than 28: this lands in the next one.
            return (line + 31 * _DAY).replace(day=1)


def _bad(text: str) -> BadShardKey:
    return BadShardKey(
        f"{text!r} is not a window; it should look like 2026-02-21T00:00:00Z..2026-02-21T01:00:00Z, on whole hours"
    )
