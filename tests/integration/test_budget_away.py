"""What a budget does while its store is away: a real Redis, killed and started again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from prometheus_client import REGISTRY

from support.servers.private import private_redis
from support.waiting import until
from waypost.adapters.redis.budget import RedisBudgetStore
from waypost.adapters.redis.client import RedisClient
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import StoreTrouble
from waypost.scaling.ratelimit.budget import BudgetExhausted, WhenAway
from waypost.scaling.ratelimit.budget_records import Rules
from waypost.scaling.ratelimit.limits import Spacing, parse_limits
from waypost.scaling.ratelimit.shared_budget import SharedBudget

pytestmark = pytest.mark.anyio

KEY = "ocm:0123456789abcdef"


@asynccontextmanager
async def budget_on(url: str, when_away: WhenAway, limits: str = "20/s") -> AsyncIterator[SharedBudget]:
    client = await RedisClient.open(url)
    rules = Rules(tuple(map(Spacing.of, parse_limits(limits))))
    try:
        async with SharedBudget(RedisBudgetStore(client), {"ocm": rules}, when_away=when_away) as budget:
            yield budget
    finally:
        await client.close()


def without_store(mode: str) -> float:
    labels = {"provider": "ocm", "mode": mode}
    return REGISTRY.get_sample_value("waypost_budget_without_store_total", labels) or 0.0


async def test_closed_waits_and_goes_on_when_it_is_back(capfd: pytest.CaptureFixture[str]) -> None:
    with private_redis() as (url, redis):
        async with budget_on(url, "closed") as budget:
            await budget.acquire(KEY)
            redis.kill()
            before = without_store("closed")
            with pytest.raises(BudgetExhausted):
                await budget.acquire(KEY, max_wait=1.5)
            waiting = asyncio.create_task(budget.acquire(KEY))
            redis.start()
            await waiting
            assert without_store("closed") > before
    assert capfd.readouterr().out.count("the store of budgets is away") == 1


async def test_open_goes_without_limit() -> None:
    with private_redis() as (url, redis):
        async with budget_on(url, "open", "1/h") as budget:
            await budget.acquire(KEY)
            redis.kill()
            for _ in range(20):
                await budget.acquire(KEY, max_wait=5)


async def test_share_takes_its_part_of_the_rate() -> None:
    with private_redis() as (url, redis):
        async with budget_on(url, "share") as one, budget_on(url, "share") as other:
            for budget in (one, other, one):  # each must know how many they are
                await budget.acquire(KEY)
            redis.kill()
            started = monotonic()
            for _ in range(6):
                await one.acquire(KEY)
            # Two share 20/s: five intervals of a tenth of a second.
            assert monotonic() - started >= 0.5


@pytest.mark.parametrize("mode", ["closed", "share", "open"])
async def test_a_refusal_while_it_is_away_stops_this_process_and_then_everybody(mode: WhenAway) -> None:
    with private_redis() as (url, redis):
        async with budget_on(url, mode) as one, budget_on(url, "closed") as other:
            await one.acquire(KEY)
            redis.kill()
            assert await one.penalise(KEY, 60) == pytest.approx(60, abs=5)
            with pytest.raises(BudgetExhausted):
                await one.acquire(KEY, max_wait=10)
            redis.start()

            async def has_told() -> bool:
                with pytest.raises(BudgetExhausted):
                    await one.acquire(KEY, max_wait=10)
                with suppress(StoreTrouble):  # a connection from before
                    return (await other.look(KEY)).account.penalty > 0
                return False

            await until(has_told)
            with pytest.raises(BudgetExhausted):
                await other.acquire(KEY, max_wait=10)
