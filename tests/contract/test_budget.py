"""What every budget does: callers wait their turn, together never above the limits."""

import asyncio
import time

import pytest

from support.stores import Backend, open_backend
from waypost.scaling.ratelimit.budget import BudgetExhausted

pytestmark = pytest.mark.anyio

KEY = "ocm:0123456789abcdef"


async def test_an_uncontended_caller_does_not_wait(backend: Backend) -> None:
    started = time.monotonic()
    await backend.stores.budget.acquire(KEY, max_wait=0.0)
    assert time.monotonic() - started < 10


async def test_what_would_wait_too_long_is_refused_and_takes_nothing(backend: Backend) -> None:
    budget = backend.stores.budget
    await budget.acquire(KEY, cost=20)  # ten seconds' worth at 2/s
    for _ in range(3):
        with pytest.raises(BudgetExhausted):
            await budget.acquire(KEY, max_wait=5.0)


async def test_keys_do_not_share_an_allowance(backend: Backend) -> None:
    budget = backend.stores.budget
    await budget.acquire(KEY, cost=1000)
    await budget.acquire("ocm:fedcba9876543210", max_wait=0.0)


async def test_a_penalty_stops_everybody_who_shares_the_key(backend: Backend) -> None:
    await backend.stores.budget.penalise(KEY, 60)
    await backend.stores.budget.penalise(KEY, 1)  # a shorter one does not end the longer one
    async with backend.open_again() as other:
        with pytest.raises(BudgetExhausted):
            await other.budget.acquire(KEY, max_wait=50)


async def test_many_callers_in_two_processes_stay_within_the_rate_and_use_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("budget")
    async with open_backend("sqlite", folder, {"budget.ocm.limit": "50/s"}) as backend, backend.open_again() as other:
        grants: list[float] = []

        async def ask(number: int) -> None:
            await (backend.stores if number % 2 else other).budget.acquire(KEY)
            grants.append(time.time())

        await asyncio.gather(*(ask(number) for number in range(26)))
    # 25 intervals of 20 ms: never faster, however many ask.
    assert max(grants) - min(grants) >= 0.49
