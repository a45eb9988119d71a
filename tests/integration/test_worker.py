"""The worker on a real store: every lease ends the right way, whatever its handler does."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from support.places import page, writing
from support.stores import Backend
from waypost.bootstrap.jobs import open_jobs
from waypost.importing.source import AccessDenied, ProviderUnavailable
from waypost.kernel.errors import TerminalError
from waypost.scaling.jobs.job import Held, Lease, NewJob
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.worker import Handler, Worker

pytestmark = pytest.mark.anyio

SHARDS = [f"ocm/country:{code}/full:2026-02-21" for code in ("DE", "FR", "NL")]


class NoJitter(random.Random):
    """Retries at once."""

    def uniform(self, a: float, b: float) -> float:
        return a


@asynccontextmanager
async def worker(
    backend: Backend, handler: Handler, *, lease: float = 30, concurrency: int = 2
) -> AsyncIterator[Worker]:
    settings = JobsSettings(lease=lease, concurrency=concurrency, max_attempts=3, store_patience=1)
    with Renewer(lambda: open_jobs(backend.settings), lease) as renewer:
        yield Worker(backend.stores.jobs, renewer, handler, owner="me", settings=settings, rng=NoJitter())


async def finish(backend: Backend, lease: Lease) -> None:
    now = await backend.stores.pages.now()
    await backend.stores.pages.commit(lease, page(last=True), writing(requested_at=now))


async def test_it_works_until_every_job_of_the_group_is_done(backend: Backend) -> None:
    async def handler(held: Held) -> None:
        await finish(backend, held.lease)

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS], group="one")
    async with worker(backend, handler) as working:
        await working.run_until_done("one")
    assert (await backend.stores.jobs.tally("one")).jobs == {"done": 3}


async def test_it_leaves_the_jobs_of_others_alone(backend: Backend) -> None:
    async def handler(held: Held) -> None:
        await finish(backend, held.lease)

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[:1]], group="one")
    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[1:]], group="two")
    async with worker(backend, handler) as working:
        await working.run_until_done("one")
    assert (await backend.stores.jobs.tally("two")).jobs == {"pending": 2}


async def test_a_transient_error_is_tried_again_and_then_goes_dead_with_its_reason(backend: Backend) -> None:
    tries: list[str] = []

    async def handler(held: Held) -> None:
        tries.append(held.lease.shard)
        held.counted["requests"] += 1
        raise ProviderUnavailable("it is away")

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[:1]], group="one")
    async with worker(backend, handler) as working:
        await working.run_until_done("one")
    assert len(tries) == 3
    [job] = await backend.stores.jobs.list(status="dead")
    assert job.last_error_code == "provider-unavailable"
    assert job.counters == {"requests": 3, "retries": 2}


async def test_workers_that_were_killed_do_not_use_up_the_attempts_of_their_job(backend: Backend) -> None:
    async def handler(held: Held) -> None:
        await finish(backend, held.lease)

    await backend.stores.jobs.enqueue([NewJob(SHARDS[0])], group="one")
    for _ in range(4):  # as often as a worker would try it, and once more
        await backend.stores.jobs.claim("killed", limit=1, lease=30, max_vanished=100)
        await backend.age(31)
    async with worker(backend, handler) as working:
        await working.run_until_done("one")
    assert (await backend.stores.jobs.tally("one")).jobs == {"done": 1}


async def test_a_job_that_fails_once_after_killed_workers_is_tried_again(backend: Backend) -> None:
    tries = 0

    async def handler(held: Held) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ProviderUnavailable("it is away")
        await finish(backend, held.lease)

    await backend.stores.jobs.enqueue([NewJob(SHARDS[0])], group="one")
    for _ in range(4):
        await backend.stores.jobs.claim("killed", limit=1, lease=30, max_vanished=100)
        await backend.age(31)
    async with worker(backend, handler) as working:
        await working.run_until_done("one")
    assert (await backend.stores.jobs.tally("one")).jobs == {"done": 1}


async def test_progress_forgives_earlier_attempts(backend: Backend) -> None:
    tries = 0

    async def handler(held: Held) -> None:
        nonlocal tries
        tries += 1
        if tries == 8:
            await finish(backend, held.lease)
            return
        now = await backend.stores.pages.now()
        await backend.stores.pages.commit(held.lease, page(tries), writing(requested_at=now))
        held.progressed("after:9")
        raise ProviderUnavailable("it is away again")

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[:1]], group="one")
    async with worker(backend, handler) as working:
        await working.run_until_done("one")
    [job] = await backend.stores.jobs.list()
    assert (job.status, job.attempts_total) == ("done", 8)


@pytest.mark.parametrize("error", [TerminalError("no use"), ValueError("a defect")])
async def test_one_bad_job_does_not_stop_the_others(backend: Backend, error: Exception) -> None:
    async def handler(held: Held) -> None:
        if held.lease.shard == SHARDS[0]:
            raise error
        await finish(backend, held.lease)

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS], group="one")
    async with worker(backend, handler) as working:
        await working.run_until_done("one")
    assert (await backend.stores.jobs.tally("one")).jobs == {"dead": 1, "done": 2}


async def test_a_reason_that_is_not_text_is_kept_as_far_as_it_is(backend: Backend) -> None:
    name = os.fsdecode(b"caf\xe9.geojson")

    async def handler(_held: Held) -> None:
        raise TerminalError(f"{name} is damaged\0")

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[:1]], group="one")
    async with worker(backend, handler) as working:
        await asyncio.wait_for(working.run_until_done("one"), timeout=30)
    [job] = await backend.stores.jobs.list()
    assert job.status == "dead"
    assert job.last_error_message is not None
    assert "caf?.geojson is damaged" in job.last_error_message


async def test_a_provider_that_forbids_us_is_not_asked_for_the_other_shards(backend: Backend) -> None:
    asked: list[str] = []

    async def handler(held: Held) -> None:
        asked.append(held.lease.shard)
        raise AccessDenied("a wrong key")

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS], group="one")
    async with worker(backend, handler, concurrency=1) as working:
        with pytest.raises(AccessDenied):
            await working.run_until_done("one")
    assert asked == SHARDS[:1]
    assert (await backend.stores.jobs.tally("one")).jobs == {"dead": 1, "pending": 2}


async def test_when_stopped_it_gives_its_jobs_back(backend: Backend) -> None:
    started = asyncio.Event()

    async def handler(held: Held) -> None:
        held.counted["requests"] += 1
        started.set()
        await asyncio.Event().wait()

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[:1]], group="one")
    async with worker(backend, handler) as working:
        running = asyncio.create_task(working.run_until_done("one"))
        await started.wait()
        working.stop()
        await running
    [job] = await backend.stores.jobs.list()
    assert (job.status, job.attempts, job.counters) == ("pending", 0, {"requests": 1})


async def test_a_lease_is_renewed_while_the_loop_is_free_or_busy(backend: Backend) -> None:
    """The renewer has a thread of its own. The lease is long enough for a machine on which that thread has to wait."""

    async def handler(held: Held) -> None:
        seen = held.deadline
        while held.deadline == seen:  # spins without awaiting: the loop is as busy as can be
            pass
        await finish(backend, held.lease)

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[:1]], group="one")
    async with worker(backend, handler, lease=3) as working:
        await working.run_until_done("one")
    [job] = await backend.stores.jobs.list()
    assert (job.status, job.attempts_total) == ("done", 1)


async def test_a_shard_is_dropped_the_moment_its_lease_is_lost(backend: Backend) -> None:
    dropped = asyncio.Event()

    async def handler(held: Held) -> None:
        stolen: Sequence[Lease] = []
        while not stolen:  # a renewal may have come in between
            await backend.age(60)
            stolen = await backend.stores.jobs.claim("thief", limit=1, lease=60, max_vanished=9)
        assert stolen[0].fence > held.lease.fence
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            dropped.set()
            raise

    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS[:1]], group="one")
    async with worker(backend, handler, lease=0.9) as working:
        running = asyncio.create_task(working.run_until_done("one"))
        await dropped.wait()
        working.stop()
        await running
    [job] = await backend.stores.jobs.list()
    assert (job.status, job.lease_owner) == ("leased", "thief")
