"""How the provider treats its callers: how often each may ask, and what goes wrong on purpose, and how often.

The same seed gives the same faults to the same request numbers.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from waypost.kernel.suggesting import did_you_mean
from waypost.scaling.ratelimit.limits import Limit
from waypost.simulator.dice import Dice

FAULTS = {
    "429": "too many requests, with Retry-After: 1",
    "429-bare": "too many requests, without a word about when to come again",
    "500": "an internal error",
    "503": "out of service",
    "slow": "the answer begins after a second, and drips for another one",
    "cut": "the connection is closed before the answer, or amid its headers",
    "half": "half of the answer, though its Content-Length promises all of it; then the connection is closed",
    "garbage": "status 200 and a body that is not JSON: half of the answer, or a page for people",
}
_TOLERANCE = 1e-9
BAN_SECONDS = 60.0


@dataclass(frozen=True)
class Faults:
    """The share of requests that each fault hits, and faults that certain requests meet for sure."""

    shares: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    # By the number of the request, from 1.
    placed: Mapping[int, str] = field(default_factory=dict)

    def draw(self, number: int) -> str | None:
        """The fault that the request with this number meets, if any."""
        if number in self.placed or not self.shares:
            return self.placed.get(number)
        left = throw(self.seed, number, "fault")
        for name, share in self.shares.items():
            left -= share
            if left < 0:
                return name
        return None


def throw(seed: int, number: int, name: str) -> float:
    """A number from 0 to below 1; the same for the same seed, number and name."""
    return float(Dice(seed, np.array([number])).unit(name)[0])


def parse_faults(text: str) -> dict[str, float]:
    """Reads shares from a text such as `429=0.05,500=0.02`."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (word.strip() for word in part.partition("="))
        _refuse_unknown(name)
        if name in shares:
            raise ValueError(f"{name} is named twice")
        shares[name] = _parse_share(name, share)
    if sum(shares.values()) > 1 + _TOLERANCE:
        raise ValueError(f"the shares of all faults add up to more than 1: {text}")
    return shares


def parse_placed(text: str) -> dict[int, str]:
    """Reads faults by the number of their request from a text such as `12=429,30=cut`."""
    placed: dict[int, str] = {}
    for part in text.split(","):
        number, _, name = (word.strip() for word in part.partition("="))
        if not (number.isascii() and number.isdigit() and int(number)):
            raise ValueError(f"write the number of a request and what it meets, as in 12=429; this is {part!r}")
        _refuse_unknown(name)
        if int(number) in placed:
            raise ValueError(f"request {number} is named twice")
        placed[int(number)] = name
    return placed


def _refuse_unknown(name: str) -> None:
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}; known are {', '.join(FAULTS)}.{did_you_mean(name, FAULTS)}")


def _parse_share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"the share of {name} is a number from 0 to 1, as in {name}=0.05; this is {text!r}")
    return share


@dataclass(frozen=True)
class CallerRefusal:
    status: int
    words: str
    retry_after: int | None = None


class Callers:
    """A limit is one bucket per caller: it holds the limit's count, refills evenly over its period, and starts full."""

    def __init__(self, limits: tuple[Limit, ...], ban_after: int | None) -> None:
        self._limits = limits
        self._ban_after = ban_after
        self._buckets: dict[str, list[_Bucket]] = {}
        self._lately: dict[str, deque[float]] = {}
        self.banned: set[str] = set()

    def refuse(self, caller: str, now: float) -> CallerRefusal | None:
        """Counts a request by this caller; returns what it is told instead of an answer, or None."""
        if self._is_banned(caller, now):
            return CallerRefusal(403, "REQUEST FAILED: this key has been banned for asking too much")
        buckets = self._buckets.setdefault(caller, [_Bucket(limit, now) for limit in self._limits])
        wait = max((bucket.wait(now) for bucket in buckets), default=0.0)
        if wait > 0:
            return CallerRefusal(429, "REQUEST FAILED: too many requests", retry_after=math.ceil(wait))
        for bucket in buckets:
            bucket.take()
        return None

    def _is_banned(self, caller: str, now: float) -> bool:
        """Whether the caller is banned: for good, after too many requests within a minute, refused ones included."""
        if self._ban_after is None or caller in self.banned:
            return caller in self.banned
        lately = self._lately.setdefault(caller, deque())
        lately.append(now)
        while lately[0] <= now - BAN_SECONDS:
            lately.popleft()
        if len(lately) > self._ban_after:
            self.banned.add(caller)
            del self._lately[caller]
        return caller in self.banned


class _Bucket:
    def __init__(self, limit: Limit, now: float) -> None:
        self._limit = limit
        self._level = float(limit.count)
        self._at = now

    def wait(self, now: float) -> float:
        """Seconds until a request may be made; 0 when one may be made now."""
        self._level = min(self._limit.count, self._level + (now - self._at) * self._limit.rate)
        self._at = now
        return max(0.0, 1 - self._level) / self._limit.rate

    def take(self) -> None:
        self._level -= 1


@dataclass(frozen=True)
class Conduct:
    """By default the provider behaves well: every caller is answered, at once and fully."""

    key: str | None = None
    limits: tuple[Limit, ...] = ()
    ban_after: int | None = None
    faults: Faults = field(default_factory=Faults)
    latency: float = 0.0
    # The most records in one answer, whatever was asked for.
    truncate: int | None = None
