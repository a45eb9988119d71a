"""pyrate-limiter: its bucket on Redis, and its limiter in blocking mode."""

from pyrate_limiter import Duration, Limiter, Rate, RedisBucket
from redis.asyncio import Redis


class PyrateLimiter:
    def __init__(self, url: str, rate: int) -> None:
        self._redis = Redis.from_url(url)
        self._rates = [Rate(rate, Duration.SECOND)]
        self._limiter: Limiter | None = None

    async def open(self) -> None:
        self._limiter = Limiter(await RedisBucket.init(self._rates, self._redis, "provider"))

    async def acquire(self) -> None:
        assert self._limiter
        while not await self._limiter.try_acquire_async("provider"):
            pass

    async def refused(self, retry_after: str | None) -> None:
        """It has no word for that."""

    def succeeded(self) -> None:
        """Nor for that."""


make = PyrateLimiter
