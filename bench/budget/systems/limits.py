"""limits: a moving window. It says yes or no and until when, and waiting is the caller's business."""

import asyncio
import time

from limits import RateLimitItemPerSecond  # type: ignore[import-not-found]  # a peer
from limits.aio.storage import RedisStorage  # type: ignore[import-not-found]  # a peer
from limits.aio.strategies import MovingWindowRateLimiter  # type: ignore[import-not-found]  # a peer

# Somebody else had the place that became free: do not spin.
_LEAST_PAUSE = 0.001


class LimitsLimiter:
    def __init__(self, url: str, rate: int) -> None:
        self._limit = RateLimitItemPerSecond(rate)
        self._window = MovingWindowRateLimiter(RedisStorage(f"async+{url}", implementation="redispy"))

    async def open(self) -> None:
        """It connects by itself."""

    async def acquire(self) -> None:
        while not await self._window.hit(self._limit, "provider"):
            reset_at, remaining = await self._window.get_window_stats(self._limit, "provider")
            if remaining <= 0:
                await asyncio.sleep(max(_LEAST_PAUSE, reset_at - time.time()))

    async def refused(self, retry_after: str | None) -> None:
        """It has no word for that."""

    def succeeded(self) -> None:
        """Nor for that."""


make = LimitsLimiter
