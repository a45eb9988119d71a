"""Limits and reservations: pure arithmetic on times in seconds.

Each limit has a theoretical arrival time: when the next request would come if all came evenly. A reservation moves it
forward and says when the caller may go, so that callers are served in order and nobody polls.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_PERIODS = {"s": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
_LONG_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` requests a `period`; in any window of any length at most rate x length + burst."""

    count: int
    period: float
    name: str

    @property
    def burst(self) -> int:
        """Long limits may be used in small bursts; short ones are spaced evenly, as a polite client asks."""
        return max(1, min(10, self.count // 10)) if self.period > _LONG_SECONDS else 1

    @property
    def interval(self) -> float:
        """Seconds between even requests; a long limit refills so slowly that its burst fits into its period too."""
        refilled = max(1, self.count - self.burst) if self.period > _LONG_SECONDS else self.count
        return self.period / refilled

    @property
    def rate(self) -> float:
        return self.count / self.period


@dataclass(frozen=True, slots=True)
class Reservation:
    """When to go, and each limit's arrival time afterwards."""

    at: float
    arrivals: tuple[float, ...]


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Limits from `5/s,10000/day`."""
    limits = tuple(_parse_limit(part.strip()) for part in text.split(","))
    if len({limit.name for limit in limits}) < len(limits):
        raise ValueError(f"{text!r} names one limit twice")
    return limits


def _parse_limit(text: str) -> Limit:
    match = re.fullmatch(r"(\d{1,9})\s*/\s*(\d{0,6})\s*([a-z]+)", text)
    if not match or match[3] not in _PERIODS or int(match[1]) == 0 or (match[2] and int(match[2]) == 0):
        raise ValueError(f"{text!r} is not a limit; write it like 5/s, 100/min or 10000/day")
    return Limit(int(match[1]), float(int(match[2] or 1) * _PERIODS[match[3]]), text.replace(" ", ""))


def reserve(
    limits: Sequence[Limit], arrivals: Sequence[float], *, now: float, not_before: float = 0.0, cost: int = 1
) -> Reservation:
    """Take `cost` from all limits together, at the earliest moment that suits every one of them."""
    # What costs more than a burst waits until all of it is there.
    tolerances = [(limit.burst - cost) * limit.interval for limit in limits]
    at = max([now, not_before, *(arrival - tolerance for arrival, tolerance in zip(arrivals, tolerances, strict=True))])
    moved = (max(arrival, at) + cost * limit.interval for limit, arrival in zip(limits, arrivals, strict=True))
    return Reservation(at, tuple(moved))
