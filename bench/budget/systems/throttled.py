"""throttled-py: GCRA in its waiting mode, with the burst that it has by itself: as many as a second allows."""

from throttled.asyncio import RateLimiterType, Throttled, rate_limiter, store  # type: ignore[import-not-found]  # a peer

# It gives up after this, and is asked again.
_TIMEOUT = 60.0


class ThrottledLimiter:
    def __init__(self, url: str, rate: int, burst: int | None = None) -> None:
        quota = rate_limiter.per_sec(rate, burst=burst)
        self._throttled = Throttled(
            key="provider",
            timeout=_TIMEOUT,
            using=RateLimiterType.GCRA.value,
            quota=quota,
            store=store.RedisStore(server=url),
        )

    async def open(self) -> None:
        """It connects by itself."""

    async def acquire(self) -> None:
        while (await self._throttled.limit()).limited:
            pass

    async def refused(self, retry_after: str | None) -> None:
        """It has no word for that."""

    def succeeded(self) -> None:
        """Nor for that."""


make = ThrottledLimiter
