"""Redis job stores for tests: a namespace of its own for each, on the run's server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis, RedisCluster

from support.job_backend import JobBackend
from support.servers import redis as server
from support.servers import redis_cluster as cluster_server
from waypost.adapters.redis.client import RedisClient
from waypost.adapters.redis.jobs import RedisJobStore
from waypost.scaling.jobs.store import JobStore

# KEYS[1] is the root of the namespace's keys, ARGV[1] how many microseconds to go back.
_AGE = """
local function back(set, id)
  if redis.call('ZSCORE', set, id) then
    redis.call('ZINCRBY', set, -ARGV[1], id)
  end
end

for _, id in ipairs(redis.call('ZRANGE', KEYS[1] .. ':ids', 0, -1)) do
  local job = KEYS[1] .. ':job:' .. id
  local found = redis.call('HMGET', job, 'status', 'priority', 'groups')
  local pools = { '' }
  for _, group in ipairs(cjson.decode(found[3] or '[]')) do
    pools[#pools + 1] = ':' .. group
  end
  for _, pool in ipairs(pools) do
    back(KEYS[1] .. ':leased' .. pool, id)
    back(KEYS[1] .. ':pending:' .. found[2] .. pool, id)
  end
  back(KEYS[1] .. ':ended:' .. found[1], id)
  for _, field in ipairs({ 'lease_until', 'not_before', 'finished_at' }) do
    if (redis.call('HGET', job, field) or '') ~= '' then
      redis.call('HINCRBY', job, field, -ARGV[1])
    end
  end
end
"""


@asynccontextmanager
async def redis(_folder: Path) -> AsyncIterator[JobBackend]:
    async with _backend(server.address()) as backend:
        yield backend


@asynccontextmanager
async def redis_cluster(_folder: Path) -> AsyncIterator[JobBackend]:
    async with _backend(cluster_server.address()) as backend:
        yield backend


@asynccontextmanager
async def _backend(url: str) -> AsyncIterator[JobBackend]:
    namespace = new_namespace()

    @asynccontextmanager
    async def open_again() -> AsyncIterator[JobStore]:
        async with open_jobs(url, namespace) as store:
            yield store

    async def age(seconds: float) -> None:
        await age_redis(url, namespace, seconds)

    async with open_again() as store:
        yield JobBackend(store, age, open_again)


def new_namespace() -> str:
    return f"test-{uuid4().hex}"


@asynccontextmanager
async def open_jobs(url: str, namespace: str) -> AsyncIterator[RedisJobStore]:
    client = await RedisClient.open(url)
    try:
        yield RedisJobStore(client, namespace)
    finally:
        await client.close()


@asynccontextmanager
async def open_plainly(url: str) -> AsyncIterator[Redis]:
    """The driver itself, for what only a test does."""
    plain: Any
    if url.startswith("redis+cluster"):
        plain = RedisCluster.from_url(url.replace("+cluster", "").partition(",")[0], decode_responses=True)
    else:
        plain = Redis.from_url(url, decode_responses=True)
    try:
        yield plain
    finally:
        await plain.aclose()


async def age_redis(url: str, namespace: str, seconds: float) -> None:
    """As if so many seconds had passed."""
    async with open_plainly(url) as plain:
        await plain.eval(_AGE, 1, f"{{{namespace}}}:jobs", round(seconds * 1e6))
