"""How often each caller asks, and which callers are told to wait or to go away."""

import math
from collections import deque
from dataclasses import dataclass

from waypost.scaling.ratelimit.limits import Limit

BAN_SECONDS = 60.0


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
