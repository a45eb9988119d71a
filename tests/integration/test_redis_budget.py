"""Budgets on Redis: the scripts compute what the ledger computes, and a server that forgets is mended."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.job_store_redis import new_namespace, open_plainly
from support.servers import redis as server
from support.servers.private import private_redis
from support.waiting import until
from waypost.adapters.redis.budget import SCRIPTS, RedisBudgetStore
from waypost.adapters.redis.client import RedisClient
from waypost.adapters.redis.scripts import Script, make_script
from waypost.scaling.ratelimit.budget import BudgetExhausted
from waypost.scaling.ratelimit.budget_records import Account, Asked, Known, Rules
from waypost.scaling.ratelimit.ledger import Ledger
from waypost.scaling.ratelimit.limits import Spacing, parse_limits, parse_shared_limits
from waypost.scaling.ratelimit.shared_budget import SharedBudget

KEY = "ocm:0123456789abcdef"
START = 1_700_000_000_000_000
SECOND = 1_000_000
RULES = tuple(
    Rules(tuple(map(Spacing.of, (*parse_limits(limits), *parse_shared_limits(shared)))), recovery=60 * SECOND)
    for limits, shared in [("5/s", ""), ("7/s,1000/day", ""), ("3/min", "10/s"), ("1000/h", "2/s,100/h")]
)

ASKED = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 15), st.sampled_from([0, SECOND, 60 * SECOND, 1 << 52])),
    max_size=4,
    unique_by=lambda each: each[0] or object(),
)
STEP = st.one_of(
    # What happens most, and takes the short way if it can.
    st.tuples(
        st.just("ask"), st.tuples(st.tuples(st.just(0), st.integers(1, 3), st.just(1 << 52))), st.just(value=False)
    ),
    st.tuples(st.just("ask"), ASKED, st.booleans()),
    st.tuples(st.just("penalise"), st.none() | st.integers(0, 100 * SECOND), st.none()),
    st.tuples(st.just("advise"), st.integers(0, 100), st.integers(1, 100 * SECOND)),
    st.tuples(st.just("leave"), st.integers(1, 9), st.none()),
    st.tuples(st.sampled_from(["keep", "go back"]), st.none(), st.none()),
)
PASSING = st.sampled_from([0, 1, SECOND // 3, 2 * SECOND, 31 * SECOND, 3600 * SECOND, -SECOND, -3600 * SECOND])


def scripts_with_clock(clock: str) -> dict[str, Script]:
    """The scripts, on a clock that the test sets."""
    return {
        name: make_script(name, script.text.replace("redis.call('TIME')", f"redis.call('LRANGE', '{clock}', 0, 1)"))
        for name, script in SCRIPTS.items()
    }


class Both:
    """The same steps on the ledger and on Redis; after each, both know and say the same."""

    def __init__(self, store: RedisBudgetStore, plain: Any, clock: str, rules: Rules) -> None:
        self._store = store
        self._plain = plain
        self._clock = clock
        self._rules = rules
        self._account, self._common = Account(), Account()
        self._kept = Account(), Account()
        self._known = Known()
        self._now = START
        own = store.name(KEY)
        self._keys = [own, f"{own}:short", own.partition("}")[0] + "}"]

    async def step(self, what: str, first: Any, second: Any, passed: int) -> None:
        self._now += passed
        await self._plain.delete(self._clock)
        await self._plain.rpush(self._clock, self._now // SECOND, self._now % SECOND)
        if what in {"keep", "go back"}:
            await self._keep() if what == "keep" else await self._go_back()
            return
        ledger = Ledger(self._account, self._common, self._rules, self._known, self._now)
        known = await self._do(ledger, what, first, second)
        assert known == ledger.known()
        look = await self._store.look(KEY)
        # A turn that is taken the short way does not say who took it.
        assert look.account.members.keys() == self._account.members.keys()
        assert (msgspec.structs.replace(look.account, members=self._account.members), look.now) == (
            self._account,
            self._now,
        )
        assert look.common.arrivals == self._common.arrivals
        assert await self._store.epoch(KEY) == self._account.epoch
        self._known = known

    async def _do(self, ledger: Ledger, what: str, first: Any, second: Any) -> Known:
        arguments = KEY, self._rules, self._known
        if what == "ask":
            asked = [Asked(*each) for each in first]
            expected = ledger.ask("process", asked, succeeded=second)
            known, answers = await self._store.ask(*arguments, "process", asked, succeeded=second)
            assert answers == expected
            return known
        if what == "penalise":
            ledger.penalise(first)
            return await self._store.penalise(*arguments, first)
        if what == "advise":
            ledger.advise(first, second)
            return await self._store.advise(*arguments, first, second)
        ledger.leave(first)
        return await self._store.leave(*arguments, first)

    async def _keep(self) -> None:
        self._kept = copy.deepcopy((self._account, self._common))
        for key in self._keys:
            await self._plain.delete(f"{key}kept")
            await self._plain.copy(key, f"{key}kept")

    async def _go_back(self) -> None:
        """To what was kept; to nothing, if nothing was."""
        self._account, self._common = copy.deepcopy(self._kept)
        for key in self._keys:
            await self._plain.delete(key)
            await self._plain.copy(f"{key}kept", key)


# Who shares the budget was forgotten with everything else, and is noted again by the first who asks.
FORGOTTEN = [
    (("ask", ((0, 1, 1 << 52),), False), 0),
    (("go back", None, None), 0),
    (("advise", 100, SECOND), 0),
    (("advise", 100, SECOND), 31 * SECOND),
    (("ask", ((0, 1, 1 << 52),), False), 0),
]


QUICK = Rules(tuple(map(Spacing.of, parse_limits("40/s"))), recovery=60 * SECOND)
# Of three who wait for the end of a penalty, the first two are gone: the third has its turn at the last call.
GONE = [
    (("penalise", SECOND, None), 0),
    *[(("ask", ((0, 1, 1 << 52),), False), 0)] * 3,
    (("ask", ((2, 1, 1 << 52),), False), 660_000),
    (("ask", ((3, 1, 1 << 52),), False), 40_000),
    (("ask", ((3, 1, 1 << 52),), False), 250_000),
]


@given(st.sampled_from(RULES), st.lists(st.tuples(STEP, PASSING), max_size=25))
@example(RULES[0], FORGOTTEN)
@example(QUICK, GONE)
@settings(max_examples=150)
def test_the_scripts_compute_what_the_ledger_computes(rules: Rules, steps: list[tuple[Any, int]]) -> None:
    async def compare() -> None:
        namespace = new_namespace()
        async with open_plainly(server.address()) as plain, opened(server.address()) as client:
            store = RedisBudgetStore(client, namespace, scripts_with_clock(f"{namespace}-clock"))
            both = Both(store, plain, f"{namespace}-clock", rules)
            for (what, first, second), passed in steps:
                await both.step(what, first, second, passed)

    asyncio.run(compare())


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[RedisClient]:
    client = await RedisClient.open(url)
    try:
        yield client
    finally:
        await client.close()


@pytest.mark.anyio
async def test_scripts_are_known_again_after_a_restart_and_a_flush_forgets_no_penalty() -> None:
    with private_redis() as (url, redis):
        async with opened(url) as client, SharedBudget(RedisBudgetStore(client), {"ocm": RULES[0]}) as budget:
            await budget.acquire(KEY)
            await budget.penalise(KEY, 3600)
            redis.kill()
            redis.start()
            async with open_plainly(url) as plain:
                await plain.flushall()
                await plain.script_flush()
            with pytest.raises(BudgetExhausted):
                await budget.acquire(KEY, max_wait=60)
            assert (await budget.look(KEY)).account.penalty > 0


@pytest.mark.anyio
async def test_nothing_in_redis_or_on_its_channels_names_the_key() -> None:
    namespace = new_namespace()
    async with (
        opened(server.address()) as client,
        open_plainly(server.address()) as plain,
        SharedBudget(RedisBudgetStore(client, namespace), {"ocm": RULES[2]}) as budget,
    ):
        await budget.acquire(KEY)
        keys = [key async for key in plain.scan_iter(f"{{{namespace}*")]
        assert sorted(keys) == [f"{{{namespace}:budget:ocm}}", f"{{{namespace}:budget:ocm}}:{KEY[4:]}"]
        # Gone after some days in which nobody asked, so that old keys do not pile up.
        assert all([0 < await plain.pttl(key) <= 2 * 86_400_000 for key in keys])


@pytest.mark.anyio
async def test_who_waits_is_told_of_a_penalty_without_asking() -> None:
    namespace = new_namespace()
    async with (
        opened(server.address()) as client,
        SharedBudget(RedisBudgetStore(client, namespace), {"ocm": RULES[0]}) as budget,
    ):
        await budget.acquire(KEY)
        store = RedisBudgetStore(client, namespace)

        async def hears() -> bool:
            return store.subscription(KEY) is not None

        async def all_wait() -> bool:
            return (await budget.look(KEY)).account.turns >= 11

        await until(hears)
        waiting = [asyncio.create_task(budget.acquire(KEY, max_wait=5)) for _ in range(10)]
        await until(all_wait)
        async with opened(server.address()) as elsewhere:
            await RedisBudgetStore(elsewhere, namespace).penalise(KEY, RULES[0], Known(), 3600 * SECOND)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes[1:]} == {BudgetExhausted}


@pytest.mark.anyio
async def test_many_who_ask_at_once_share_calls() -> None:
    rules = Rules((Spacing("1000/s", 1000, 1, shared=False),))
    async with (
        opened(server.address()) as client,
        SharedBudget(RedisBudgetStore(client, new_namespace()), {"ocm": rules}) as budget,
    ):
        await asyncio.gather(*(budget.acquire(KEY) for _ in range(250)))
        look = await budget.look(KEY)
        assert look.account.turns == 250
        # The first goes alone; those who came meanwhile share a call, a hundred at most.
        assert look.account.seq <= 10


@pytest.mark.anyio
async def test_who_gives_up_while_asking_for_others_costs_them_nothing() -> None:
    rules = Rules((Spacing("1000/s", 1000, 1, shared=False),))
    async with (
        opened(server.address()) as client,
        SharedBudget(RedisBudgetStore(client, new_namespace()), {"ocm": rules}) as budget,
    ):
        asking = [asyncio.create_task(budget.acquire(KEY)) for _ in range(101)]
        await asking[0]
        asking[1].cancel()  # who came second asks for all the others, and waits for the answer
        asking[2].cancel()  # somebody asks for it at this moment
        await asyncio.wait(asking)
        assert [task.cancelled() for task in asking] == [False, True, True] + [False] * 98
        assert (await budget.look(KEY)).account.turns == 101
