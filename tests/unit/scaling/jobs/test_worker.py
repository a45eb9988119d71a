"""A lease that nobody works on is not renewed, and a worker that has lost what it needs says so and ends."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from support.memory_jobs import MemoryJobStore
from waypost.adapters.errors import StoreRefused
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import NotNow, TerminalError, TransientError
from waypost.scaling.jobs.job import Done, Failure, Held, Lease, NewJob
from waypost.scaling.jobs.renewer import Renewer, deadline_of
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.jobs.worker import Handler, Worker

pytestmark = pytest.mark.anyio

SHARDS = [f"waypost/snapshot:{number}" for number in range(6)]
_PATIENCE = 20.0


class WatchedRenewer(Renewer):
    """Tells what it holds."""

    @property
    def held(self) -> int:
        return len(self._held)


@asynccontextmanager
async def worker(store: JobStore, handler: Handler) -> AsyncIterator[tuple[Worker, WatchedRenewer]]:
    @asynccontextmanager
    async def open_store() -> AsyncIterator[JobStore]:
        yield store

    settings = JobsSettings(lease=30, concurrency=2, max_attempts=5, store_patience=1)
    with WatchedRenewer(open_store, 30) as renewer:
        yield Worker(store, renewer, handler, owner="me", settings=settings, rng=random.Random(1)), renewer


class UnwritableStore(MemoryJobStore):
    """Whatever a lease should end with, but for success, fails in a way that nobody foresaw."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: Counter[str] = Counter()
        self.tried_all = asyncio.Event()

    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        self._refuse("fail")

    async def release(self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, **_named: Any) -> None:
        self._refuse("release")

    def _refuse(self, what: str) -> None:
        self.tried[what] += 1
        if self.tried.total() == len(SHARDS):
            self.tried_all.set()
        raise RuntimeError("a defect")


@pytest.mark.parametrize("error", [TerminalError("no use"), NotNow("later", retry_in=1), ValueError("a defect")])
async def test_a_job_that_cannot_be_given_back_is_dropped_all_the_same(error: Exception) -> None:
    async def handler(_held: Held) -> None:
        raise error

    store = UnwritableStore()
    await store.enqueue([NewJob(shard) for shard in SHARDS])
    async with worker(store, handler) as (working, renewer):
        running = asyncio.create_task(working.run())
        await asyncio.wait_for(store.tried_all.wait(), _PATIENCE)
        working.stop()
        await asyncio.wait_for(running, _PATIENCE)
        assert renewer.held == 0


class OnceRefusedStore(MemoryJobStore):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error

    async def complete(self, done: Sequence[Done]) -> set[str]:
        error, self.error = self.error, None
        if error:
            raise error
        return await super().complete(done)


@pytest.mark.parametrize("error", [StoreRefused("the password was changed"), RuntimeError("a defect")])
async def test_a_worker_ends_with_whatever_ended_its_acknowledger(error: Exception) -> None:
    async def handler(_held: Held) -> None: ...

    store = OnceRefusedStore(error)
    await store.enqueue([NewJob(shard) for shard in SHARDS], group="one")
    async with worker(store, handler) as (working, renewer):
        with pytest.raises(type(error)):
            await asyncio.wait_for(working.run_until_done("one"), _PATIENCE)
        assert renewer.held == 0


async def test_an_acknowledger_that_ends_last_is_noticed_too() -> None:
    began = asyncio.Event()

    async def handler(_held: Held) -> None:
        began.set()

    store = OnceRefusedStore(StoreRefused("the password was changed"))
    await store.enqueue([NewJob(SHARDS[0])])
    async with worker(store, handler) as (working, _):
        running = asyncio.create_task(working.run())
        await began.wait()
        working.stop()
        with pytest.raises(StoreRefused):
            await asyncio.wait_for(running, _PATIENCE)


async def test_a_worker_ends_with_whatever_ended_its_renewer() -> None:
    def on_lost() -> None:
        raise RuntimeError("a defect")

    async def handler(_held: Held) -> None:
        await asyncio.Event().wait()

    store = MemoryJobStore()
    await store.enqueue([NewJob(SHARDS[0])])
    async with worker(store, handler) as (working, renewer):
        overdue = Held(Lease("x", "waypost/snapshot:x", 10**9, 1, None), deadline_of(monotonic(), 0.0))
        renewer.hold(overdue, on_lost)
        with pytest.raises(RuntimeError, match="a defect"):
            await asyncio.wait_for(working.run(), _PATIENCE)
    assert (await store.count()) == {"pending": 1}


@pytest.mark.parametrize(("attempts", "failures", "status"), [(10, 0, "pending"), (0, 4, "dead")])
async def test_a_job_goes_dead_of_its_failures_and_not_of_the_workers_that_vanished_with_it(
    attempts: int, failures: int, status: str
) -> None:
    store = MemoryJobStore()
    await store.enqueue([NewJob(SHARDS[0])])
    [job] = store.jobs.values()
    store.jobs[job.id] = replace(job, attempts=attempts, failures=failures)

    async def handler(_held: Held) -> None:
        running.stop()
        raise TransientError("a hiccup")

    async with worker(store, handler) as (running, _renewer):
        await running.run()
    [job] = store.jobs.values()
    assert (job.status, job.failures) == (status, failures + 1)
