"""Jobs and budgets on a Redis that sentinels watch over, when its master is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from support.job_store_redis import open_jobs
from support.patience import patiently
from support.servers import redis as single_server
from support.servers.failover import Failover, redis_with_sentinels
from waypost.adapters.errors import StoreAway
from waypost.adapters.redis.budget import RedisBudgetStore
from waypost.adapters.redis.client import RedisClient
from waypost.kernel.errors import AskedWrongly
from waypost.scaling.jobs.job import Done, NewJob
from waypost.scaling.ratelimit.budget_records import Rules
from waypost.scaling.ratelimit.limits import Spacing, parse_limits
from waypost.scaling.ratelimit.shared_budget import SharedBudget

pytestmark = pytest.mark.anyio

KEY = "ocm:0123456789abcdef"
SHARDS = [f"ocm/country:{code}/full:2026-02-21" for code in ("DE", "FR", "NL")]


@pytest.fixture(scope="module")
def failover() -> Iterator[Failover]:
    with redis_with_sentinels() as made:
        yield made


@asynccontextmanager
async def open_budget(url: str) -> AsyncIterator[SharedBudget]:
    client = await RedisClient.open(url)
    rules = Rules(tuple(map(Spacing.of, parse_limits("50/s"))))
    try:
        async with SharedBudget(RedisBudgetStore(client), {"ocm": rules}) as budget:
            yield budget
    finally:
        await client.close()


async def test_the_url_of_one_server_does_not_do_for_a_sentinel(failover: Failover) -> None:
    sentinel = failover.url.replace("+sentinel", "").partition(",")[0]
    with pytest.raises(AskedWrongly, match=r"must begin with redis\+sentinel://"):
        await RedisClient.open(sentinel)


async def test_a_master_that_the_sentinels_do_not_know_is_away(failover: Failover) -> None:
    with pytest.raises(StoreAway, match=r"No master found for 'other'$") as away:
        await RedisClient.open(failover.url.replace("/main", "/other"))
    assert "sentinels" in str(away.value.next_step)


async def test_sentinels_that_are_away_are_told_of_in_a_few_words() -> None:
    with pytest.raises(StoreAway, match=r"127\.0\.0\.1:1,127\.0\.0\.1:2: No master found for 'main'$"):
        await RedisClient.open("redis+sentinel://:secret@127.0.0.1:1,127.0.0.1:2/main")


async def test_the_url_of_sentinels_does_not_do_for_one_server() -> None:
    with pytest.raises(AskedWrongly, match="are not sentinels"):
        await RedisClient.open(f"{single_server.address().replace('redis:', 'redis+sentinel:')}/main")


async def test_work_goes_on_when_the_master_is_lost(failover: Failover) -> None:
    async with open_jobs(failover.url, "waypost") as jobs, open_budget(failover.url) as budget:
        await jobs.enqueue([NewJob(shard) for shard in SHARDS])
        held, *_ = await jobs.claim("me", limit=1, lease=60, max_vanished=5)
        await jobs.wait(10)  # the beginning of the subscription counts as news
        await budget.acquire(KEY)
        before = await budget.look(KEY)
        await asyncio.to_thread(failover.lose_the_primary)
        assert await patiently(lambda: jobs.complete([Done(held)])) == {held.job_id}
        rest = await jobs.claim("me", limit=5, lease=60, max_vanished=5)
        assert [lease.shard for lease in rest] == SHARDS[1:]
        assert min(lease.fence for lease in rest) > held.fence
        await budget.acquire(KEY)
        assert (await budget.look(KEY)).account.turns > before.account.turns
        await jobs.wait(10)
        waiting = asyncio.create_task(jobs.wait(60))
        await jobs.release(rest[0], counted={})
        await asyncio.wait_for(waiting, 30)
