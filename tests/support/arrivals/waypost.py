"""Waypost's budget as the import engine uses it."""

from contextlib import AsyncExitStack
from datetime import UTC, datetime

from waypost.adapters.redis.budget import RedisBudgetStore
from waypost.adapters.redis.client import RedisClient
from waypost.adapters.sources.advice import parse_retry_after
from waypost.scaling.ratelimit.budget_records import Rules
from waypost.scaling.ratelimit.limits import Spacing, parse_limits
from waypost.scaling.ratelimit.shared_budget import SharedBudget
from waypost.telemetry.logs import configure_logs

KEY = "ocm:0123456789abcdef"
# Quick enough that a drill sees the rate come back.
_RECOVERY = 2_000_000


class WaypostLimiter:
    def __init__(self, url: str, rate: int) -> None:
        self._url = url
        self._rules = Rules(tuple(map(Spacing.of, parse_limits(f"{rate}/s"))), recovery=_RECOVERY)
        self._stack = AsyncExitStack()
        self._budget: SharedBudget | None = None

    @property
    def budget(self) -> SharedBudget:
        assert self._budget, "it is not open"
        return self._budget

    async def open(self) -> None:
        configure_logs("error")
        client = await RedisClient.open(self._url)
        self._stack.push_async_callback(client.close)
        budget = SharedBudget(RedisBudgetStore(client), {"ocm": self._rules})
        self._budget = await self._stack.enter_async_context(budget)

    async def aclose(self) -> None:
        await self._stack.aclose()

    async def acquire(self) -> None:
        await self.budget.acquire(KEY)

    async def refused(self, retry_after: str | None) -> None:
        await self.budget.penalise(KEY, parse_retry_after(retry_after, datetime.now(UTC)))

    def succeeded(self) -> None:
        self.budget.succeeded(KEY)


make = WaypostLimiter
