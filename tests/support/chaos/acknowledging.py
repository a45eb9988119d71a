"""Writers that remember what a store has acknowledged, while its primary is lost."""

import asyncio
import random
from itertools import count

from support.servers.failover import Failover
from waypost.bootstrap.jobs import open_job_store
from waypost.kernel.errors import StoreTrouble
from waypost.scaling.jobs.job import NewJob

# So many are acknowledged by the server that took over before the writers stop.
_AFTERWARDS = 20
_MOST_JOBS = 1_000_000


async def write_through(failover: Failover, rng: random.Random, writers: int) -> None:
    """All that was acknowledged, before and after, is there in the end."""
    async with open_job_store(failover.url, migrating=True):
        pass
    acknowledged: set[str] = set()
    numbers = count()
    over = asyncio.Event()

    async def write() -> None:
        async with open_job_store(failover.url) as jobs:
            while not over.is_set():
                shard = f"ocm/country:DE/ids:{(number := next(numbers))}..{number + 1}"
                try:
                    await jobs.enqueue([NewJob(shard)])
                except StoreTrouble:
                    await asyncio.sleep(0.05)
                else:
                    acknowledged.add(shard)

    async def acknowledge(more: int) -> None:
        enough = len(acknowledged) + more
        while len(acknowledged) < enough:  # noqa: ASYNC110 - a set tells nobody that it has grown
            await asyncio.sleep(0.005)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(writers):
            tasks.create_task(write())
        await acknowledge(rng.randrange(50, 300))
        await asyncio.to_thread(failover.lose_the_primary)
        await acknowledge(_AFTERWARDS)
        over.set()
    async with open_job_store(failover.url) as jobs:
        there = {job.shard for job in await jobs.list(limit=_MOST_JOBS)}
    assert acknowledged <= there, f"{len(acknowledged - there)} of {len(acknowledged)} were lost"
