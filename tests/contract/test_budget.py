"""What every budget does, whatever it is kept in: callers wait their turn, together never above the limits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from support.budget_stores import BUDGET_STORES, OpenStore
from support.waiting import until
from waypost.kernel.clock import monotonic
from waypost.scaling.ratelimit.budget import Advice, BudgetExhausted, ProviderPauses
from waypost.scaling.ratelimit.budget_records import Rules
from waypost.scaling.ratelimit.limits import Spacing, parse_limits, parse_shared_limits
from waypost.scaling.ratelimit.shared_budget import SharedBudget

pytestmark = pytest.mark.anyio

KEY = "ocm:0123456789abcdef"
OTHER_KEY = "ocm:fedcba9876543210"

Open = Callable[..., Awaitable[SharedBudget]]


@pytest.fixture(params=BUDGET_STORES)
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OpenStore]:
    async with BUDGET_STORES[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
async def opened(open_store: OpenStore) -> AsyncIterator[Open]:
    """Another budget on the same store with each call, as another process has it."""
    async with AsyncExitStack() as stack:

        async def open_budget(limits: str = "2/s", shared: str = "", **others: float) -> SharedBudget:
            spacings = tuple(map(Spacing.of, (*parse_limits(limits), *parse_shared_limits(shared))))
            store = await stack.enter_async_context(open_store())
            rules = msgspec.structs.replace(Rules(spacings), **others)
            return await stack.enter_async_context(SharedBudget(store, {"ocm": rules}))

        yield open_budget


async def waits(budget: SharedBudget, *, turns: int) -> bool:
    """Whether so many have asked so far."""
    return (await budget.look(KEY)).account.turns >= turns


async def start_waiting(budget: SharedBudget) -> "asyncio.Task[float]":
    """Somebody who has been told to wait: those of one process ask one after the other."""
    waiting = asyncio.create_task(budget.acquire(KEY))
    await asyncio.sleep(0)
    with pytest.raises(BudgetExhausted):
        await budget.acquire(KEY, max_wait=0.0)
    return waiting


async def test_an_uncontended_caller_does_not_wait(opened: Open) -> None:
    budget = await opened("1/day")
    await budget.acquire(KEY, max_wait=0.0)


async def test_what_would_wait_too_long_is_refused_and_takes_nothing(opened: Open) -> None:
    budget = await opened("1/min")
    await budget.acquire(KEY)
    for _ in range(3):
        with pytest.raises(BudgetExhausted) as refusal:
            await budget.acquire(KEY, max_wait=50.0)
        assert 0 < refusal.value.retry_in < 11


async def test_keys_do_not_share_an_allowance(opened: Open) -> None:
    budget = await opened("1/h")
    await budget.acquire(KEY)
    await budget.acquire(OTHER_KEY, max_wait=0.0)


async def test_keys_share_what_is_limited_for_all_of_them_and_a_refusal_takes_from_neither(opened: Open) -> None:
    one, other = await opened("5/s", "1/h"), await opened("5/s", "1/h")
    await one.acquire(KEY)
    with pytest.raises(BudgetExhausted):
        await other.acquire(OTHER_KEY, max_wait=1.0)
    look = await one.look(OTHER_KEY)
    assert "5/s" not in look.account.arrivals
    assert set(look.common.arrivals) == {"1/h"}


async def test_many_callers_in_two_processes_stay_within_the_rate_and_use_it(opened: Open) -> None:
    one, other = await opened("50/s"), await opened("50/s")
    started = monotonic()
    await asyncio.gather(*((one if number % 2 else other).acquire(KEY) for number in range(26)))
    # 25 intervals of 20 ms: never faster, however many ask.
    assert monotonic() - started >= 0.5


async def test_callers_of_one_process_are_served_in_the_order_they_came(opened: Open) -> None:
    # Those whose times pass while the machine is busy elsewhere are free at the same moment, in any order.
    budget = await opened("8/s")
    order: list[int] = []

    async def ask(number: int) -> None:
        await budget.acquire(KEY)
        order.append(number)

    await asyncio.gather(*(ask(number) for number in range(8)))
    assert order == list(range(8))


async def test_a_penalty_stops_everybody_who_shares_the_key(opened: Open) -> None:
    one, other = await opened(), await opened()
    assert await one.penalise(KEY, 60) == pytest.approx(60, abs=5)
    assert await other.penalise(KEY, 1) > 50  # a shorter one does not end the longer one
    for budget in (one, other):
        with pytest.raises(BudgetExhausted):
            await budget.acquire(KEY, max_wait=40)
    await one.acquire(OTHER_KEY, max_wait=0.0)


async def test_nobody_waits_for_a_pause_that_is_too_long(opened: Open) -> None:
    budget = await opened("1/s")
    await budget.acquire(KEY)
    waiting = asyncio.create_task(budget.acquire(KEY, max_pause=30))
    await until(lambda: waits(budget, turns=2))
    await budget.penalise(KEY, 60)
    with pytest.raises(ProviderPauses) as pauses:
        await waiting
    assert pauses.value.retry_in == pytest.approx(60 - 30 / 2, abs=5)


async def test_a_line_is_no_pause(opened: Open) -> None:
    budget = await opened("5/s")
    await asyncio.gather(*(budget.acquire(KEY, max_pause=0.0) for _ in range(4)))


async def test_a_penalty_reaches_those_who_wait_already(opened: Open) -> None:
    one, other = await opened("1/s"), await opened("1/s")
    await one.acquire(KEY)
    waiting = [asyncio.create_task(budget.acquire(KEY, max_wait=30)) for budget in (one, other)]
    await until(lambda: waits(one, turns=3))
    await one.penalise(KEY, 3600)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BudgetExhausted] * 2


async def test_a_refusal_halves_the_rate_for_everybody_and_success_restores_it(opened: Open) -> None:
    one, other = await opened("50/s", recovery=200_000), await opened("50/s", recovery=200_000)
    await one.penalise(KEY, 0)
    await other.acquire(KEY)
    assert (await other.look(KEY)).account.pace == 0.5
    other.succeeded(KEY)
    while (await other.look(KEY)).account.pace < 1:
        await other.acquire(KEY)
        other.succeeded(KEY)


async def test_without_advice_the_pause_grows(opened: Open) -> None:
    budget = await opened()
    first = await budget.penalise(KEY, None)
    assert 0 < first <= 5
    assert (await budget.look(KEY)).account.refusals == 1


async def test_advice_slows_everybody_down(opened: Open) -> None:
    one, other = await opened("10/s"), await opened("10/s")
    await one.advise(KEY, Advice(remaining=50, reset=50))
    await other.acquire(KEY)
    assert (await other.look(KEY)).account.pace == pytest.approx(0.1)
    await one.advise(KEY, Advice(remaining=0, reset=3600))  # also when it cannot be slower
    with pytest.raises(BudgetExhausted):
        await other.acquire(KEY, max_wait=60)


async def test_who_gives_up_waiting_gives_the_turn_back(opened: Open) -> None:
    budget = await opened("3/s")
    while True:
        await budget.acquire(KEY)
        arrivals = (await budget.look(KEY)).account.arrivals
        waiting = await start_waiting(budget)
        assert (await budget.look(KEY)).account.arrivals != arrivals
        if not waiting.done():  # else the machine is busy, and its turn came before it could give up
            break
    waiting.cancel()
    await asyncio.wait({waiting})

    async def is_given_back() -> bool:
        return (await budget.look(KEY)).account.arrivals == arrivals

    await until(is_given_back)


async def test_who_gives_up_in_the_line_leaves_it(opened: Open) -> None:
    budget = await opened("1/h")
    await budget.acquire(KEY)
    waiting = await start_waiting(budget)
    assert (await budget.look(KEY)).account.line
    waiting.cancel()

    async def is_empty() -> bool:
        return not (await budget.look(KEY)).account.line

    await until(is_empty)


async def test_everybody_who_asks_is_counted(opened: Open) -> None:
    for _ in range(3):
        await (await opened("50/s")).acquire(KEY)
    assert len((await (await opened()).look(KEY)).account.members) == 3


async def test_what_nobody_asked_for_yet_can_be_looked_at(opened: Open) -> None:
    assert (await (await opened()).look(KEY)).account.arrivals == {}


async def test_a_cost_below_one_is_refused(opened: Open) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        await (await opened()).acquire(KEY, cost=0)
