"""Jobs that are chosen by how their keys begin."""

import asyncio
from collections.abc import Mapping

from support.memory_jobs import MemoryJobStore
from waypost.scaling.jobs.job import Done, Failure, Lease, NewJob
from waypost.scaling.jobs.store import Chosen, release_chosen, revive_chosen

SHARDS = ["ocm/country:DE/full:1", "ocm/country:DE/full:2", "ocm/country:FR/full:1"]


async def leased(jobs: MemoryJobStore) -> list[Lease]:
    await jobs.enqueue([NewJob(shard) for shard in SHARDS])
    return list(await jobs.claim("worker", limit=3, lease=30, max_vanished=9))


class EndingMeanwhile(MemoryJobStore):
    """A worker ends a job between the look and the release."""

    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        if lease.shard == SHARDS[0]:
            await self.complete([Done(lease)])
        await super().release(lease, counted=counted, delay=delay, why=why)


def test_a_job_that_ends_meanwhile_is_left_as_it_is() -> None:
    async def work() -> None:
        jobs = EndingMeanwhile()
        await leased(jobs)
        assert await release_chosen(jobs, Chosen()) == 2
        assert {job.shard: job.status for job in await jobs.list()} == {
            SHARDS[0]: "done",
            SHARDS[1]: "pending",
            SHARDS[2]: "pending",
        }

    asyncio.run(work())


def test_nothing_chosen_revives_nothing() -> None:
    async def work() -> None:
        jobs = MemoryJobStore()
        for lease in await leased(jobs):
            await jobs.fail(lease, Failure("failed", "it failed"), retry_in=None, counted={})
        assert await revive_chosen(jobs, Chosen("ocm/country:NL")) == 0
        assert await revive_chosen(jobs, Chosen("ocm/country:DE", 1)) == 1
        assert await revive_chosen(jobs, Chosen()) == 2

    asyncio.run(work())
