"""How long an uncontended turn takes, against a bare round trip of the same driver: in turns, in one process."""

import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

import uvloop
from redis.asyncio import Redis

from support.arrivals.waypost import KEY, WaypostLimiter

# So many that nobody waits.
_RATE = 1_000_000
_WARM_UPS = 200


@dataclass(frozen=True)
class Latency:
    """Medians in microseconds."""

    acquire: float
    round_trip: float

    @property
    def ratio(self) -> float:
        return self.acquire / self.round_trip


async def _took(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter_ns()
    await call()
    return (time.perf_counter_ns() - began) / 1000


async def _measure(url: str, times: int) -> Latency:
    limiter = WaypostLimiter(url, _RATE)
    await limiter.open()
    budget = limiter.budget
    # Set up as ours is.
    async with Redis.from_url(url, decode_responses=True, protocol=2) as plain, aclosing(limiter):
        turns, trips = [], []
        for _ in range(_WARM_UPS + times):
            turns.append(await _took(lambda: budget.acquire(KEY)))
            trips.append(await _took(plain.ping))
    return Latency(statistics.median(turns[_WARM_UPS:]), statistics.median(trips[_WARM_UPS:]))


def latency(url: str, times: int) -> Latency:
    return uvloop.run(_measure(url, times))
