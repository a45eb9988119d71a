"""A worker waits for a store in trouble, and not for ever."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.memory_jobs import MemoryJobStore
from waypost.adapters.errors import StoreAway
from waypost.scaling.jobs import worker as worker_module
from waypost.scaling.jobs.job import Held, Lease, NewJob
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.jobs.store_trouble import Trouble
from waypost.scaling.jobs.worker import Handler, Worker

AWAY = StoreAway("no answer in time")
SHARDS = [f"ocm/country:{code}/full:2026-02-21" for code in ("DE", "FR")]
_PATIENCE = 20.0
# What a store's time-out is.
_HANGS = 10.5


class NoJitter(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return a


class Clock:
    """Time that passes only when somebody says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(worker_module, "monotonic", clock)
    return clock


class HangingStore(MemoryJobStore):
    """Says that it is away, but takes its time, except for so many first claims."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.well = 0
        self.claims = 0

    async def claim(self, *given: Any, **named: Any) -> Sequence[Lease]:
        self.claims += 1
        if self.claims <= self.well:
            return await super().claim(*given, **named)
        self.clock.now += _HANGS
        raise AWAY


class EveryOtherTime(HangingStore):
    """Hangs every other time, and stops the worker after so many claims."""

    working: Worker

    async def claim(self, *given: Any, **named: Any) -> Sequence[Lease]:
        self.well = self.claims + 1 if self.claims % 2 else 0
        if self.claims == 9:
            self.working.stop()
        return await super().claim(*given, **named)

    async def wait(self, seconds: float) -> None: ...


@asynccontextmanager
async def worker(store: JobStore, handler: Handler) -> AsyncIterator[Worker]:
    @asynccontextmanager
    async def open_store() -> AsyncIterator[JobStore]:
        yield store

    settings = JobsSettings(lease=30, concurrency=1, max_attempts=5, store_patience=_PATIENCE)
    with Renewer(open_store, 30) as renewer:
        yield Worker(store, renewer, handler, owner="me", settings=settings, rng=NoJitter())


async def nothing(_held: Held) -> None: ...


@pytest.mark.anyio
async def test_the_wait_for_a_store_that_hangs_ends(clock: Clock) -> None:
    store, began = HangingStore(clock), clock.now
    async with worker(store, nothing) as working:
        with pytest.raises(StoreAway):
            await asyncio.wait_for(working.run(), timeout=10)
    assert _PATIENCE <= clock.now - began <= _PATIENCE + 2 * _HANGS


@pytest.mark.anyio
async def test_a_claim_is_a_success_even_if_there_is_nothing_to_do(clock: Clock) -> None:
    store, began = EveryOtherTime(clock), clock.now
    async with worker(store, nothing) as working:
        store.working = working
        await asyncio.wait_for(working.run(), timeout=10)
    assert clock.now - began > 2 * _PATIENCE


@pytest.mark.anyio
async def test_it_ends_too_when_only_the_store_of_the_handlers_hangs(clock: Clock) -> None:
    async def handler(_held: Held) -> None:
        clock.now += _HANGS
        raise AWAY

    store, began = MemoryJobStore(), clock.now
    await store.enqueue([NewJob(shard) for shard in SHARDS])
    async with worker(store, handler) as working:
        with pytest.raises(StoreAway):
            await asyncio.wait_for(working.run(), timeout=10)
    assert _PATIENCE <= clock.now - began <= _PATIENCE + 2 * _HANGS


@pytest.mark.anyio
async def test_progress_is_a_success(clock: Clock) -> None:
    tries = 0

    async def handler(held: Held) -> None:
        nonlocal tries
        tries += 1
        await store.checkpoint(held.lease, cursor=str(tries), counted={})
        held.progressed(str(tries))
        clock.now += _HANGS
        if tries < 10:
            raise AWAY

    store = MemoryJobStore()
    await store.enqueue([NewJob(SHARDS[0])])
    async with worker(store, handler) as working:
        await asyncio.wait_for(working.run_until_idle(), timeout=10)
    assert (await store.count()) == {"done": 1}


def test_only_a_success_ends_trouble() -> None:
    trouble = Trouble(60)
    for now in range(0, 59, 13):
        trouble.note(AWAY, now)
        trouble.raise_if_it_lasts()
    trouble.note(AWAY, 60)
    with pytest.raises(StoreAway):
        trouble.raise_if_it_lasts()
    trouble.end()
    trouble.raise_if_it_lasts()
    trouble.note(AWAY, 100)
    trouble.raise_if_it_lasts()


def test_time_in_which_nobody_tried_does_not_count() -> None:
    trouble = Trouble(60)
    trouble.note(AWAY, 10, began=0)
    trouble.note(AWAY, 3610, began=3600)
    trouble.raise_if_it_lasts()
