"""Limits as people write them, and the spacing of requests that keeps within them."""

import math
import re
from dataclasses import dataclass, replace

import msgspec

_PERIODS = {"s": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
_LONG_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `count` requests per `period`; in any window of any length at most rate x length + burst."""

    count: int
    period: float
    name: str
    # Whether all keys of a provider share it.
    shared: bool = False

    @property
    def burst(self) -> int:
        """Long limits may be used in small bursts; short ones are spaced evenly, as a polite client asks."""
        return max(1, min(10, self.count // 10)) if self.period > _LONG_SECONDS else 1

    @property
    def interval(self) -> float:
        """Seconds between even requests; a long limit refills slowly enough that its burst fits into its period too."""
        refilled = max(1, self.count - self.burst) if self.period > _LONG_SECONDS else self.count
        return self.period / refilled

    @property
    def rate(self) -> float:
        return self.count / self.period


class Spacing(msgspec.Struct, frozen=True, array_like=True):
    """A limit as budgets compute with it: microseconds between requests, and how many may come at once."""

    name: str
    interval: int
    burst: int
    shared: bool

    @classmethod
    def of(cls, limit: Limit) -> "Spacing":
        # Rounded up: a microsecond too long keeps the limit, one too short would not.
        return cls(limit.name, math.ceil(limit.interval * 1_000_000), limit.burst, limit.shared)


def parse_limits(text: str) -> tuple[Limit, ...]:
    """Limits from `5/s,10000/day`."""
    limits = tuple(_parse_limit(part.strip()) for part in text.split(","))
    if len({limit.name for limit in limits}) < len(limits):
        raise ValueError(f"{text!r} names one limit twice")
    return limits


def parse_shared_limits(text: str) -> tuple[Limit, ...]:
    """Limits that all keys of a provider share; an empty text means that there are none."""
    return tuple(replace(limit, shared=True) for limit in parse_limits(text)) if text.strip() else ()


def _parse_limit(text: str) -> Limit:
    match = re.fullmatch(r"(\d{1,9})\s*/\s*(\d{0,6})\s*([a-z]+)", text)
    if not match or match[3] not in _PERIODS or int(match[1]) == 0 or (match[2] and int(match[2]) == 0):
        raise ValueError(f"{text!r} is not a limit; write it like 5/s, 100/min or 10000/day")
    return Limit(int(match[1]), float(int(match[2] or 1) * _PERIODS[match[3]]), text.replace(" ", ""))
