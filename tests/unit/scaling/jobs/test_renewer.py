"""Leases are kept alive, and given up in time, however badly the store behaves."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

import pytest

from support.memory_jobs import MemoryJobStore
from waypost.adapters.errors import StoreAway
from waypost.kernel.clock import monotonic
from waypost.scaling.jobs.job import Failure, Held, Lease, LeaseLost, NewJob, Renewed
from waypost.scaling.jobs.renewer import Renewer, deadline_of
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.jobs.worker import Handler, Worker

_PATIENCE = 30.0
LEASE = Lease("1", "ocm/country:DE/full:2026-02-21", fence=1, attempts=1, cursor=None)


class SilentStore(MemoryJobStore):
    """Takes a question and does not answer it."""

    def __init__(self) -> None:
        super().__init__()
        self.end = threading.Event()

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        await asyncio.to_thread(self.end.wait, _PATIENCE)
        return Renewed(set())


class BrokenStore(MemoryJobStore):
    """Fails a few times, and is well again; each time somebody opens it anew."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self._errors = list(errors)
        self.opened = 0
        self.renewed = threading.Event()

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        if self._errors:
            raise self._errors.pop(0)
        self.renewed.set()
        return Renewed({each.job_id for each in leases})


class BusyStore(MemoryJobStore):
    """One job is being changed whenever it is asked; the others are renewed."""

    def __init__(self, busy: Lease) -> None:
        super().__init__()
        self.busy = busy
        self.tried_again = threading.Event()
        self._asked = 0

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        self._asked += 1
        if self._asked > 1:
            self.tried_again.set()
        return Renewed({each.job_id for each in leases} - {self.busy.job_id}, {self.busy.job_id})


def renewer(store: JobStore, lease: float) -> Renewer:
    @asynccontextmanager
    async def open_store() -> AsyncIterator[JobStore]:
        if isinstance(store, BrokenStore):
            store.opened += 1
        yield store

    return Renewer(open_store, lease)


def test_a_lease_is_given_up_before_it_ends_while_the_store_is_silent() -> None:
    store, lost = SilentStore(), threading.Event()
    with renewer(store, 0.5) as renewing:
        held = Held(LEASE, deadline_of(monotonic(), 0.5))
        renewing.hold(held, lost.set)
        assert lost.wait(_PATIENCE)
        assert not store.end.is_set()
        assert held.lost
        store.end.set()


def test_a_job_that_is_just_being_changed_is_neither_lost_nor_in_the_way_of_others() -> None:
    other = Lease("2", "ocm/country:FR/full:2026-02-21", fence=2, attempts=1, cursor=None)
    store, lost = BusyStore(LEASE), threading.Event()
    with renewer(store, _PATIENCE / 100) as renewing:
        busy, free = (Held(each, deadline_of(monotonic(), _PATIENCE)) for each in (LEASE, other))
        until = busy.deadline
        for held in (busy, free):
            renewing.hold(held, lost.set)
        assert store.tried_again.wait(_PATIENCE)
    assert not lost.is_set()
    assert busy.deadline == until
    assert free.deadline != until


RESET, DEFECT = StoreAway("the connection was reset"), RuntimeError("a defect")


@pytest.mark.parametrize("errors", [(RESET,), (DEFECT,), (RESET, DEFECT, RESET)])
def test_a_renewal_that_fails_is_repeated_before_the_lease_is_over(errors: Sequence[Exception]) -> None:
    """The deadline is the lease's own: it is renewed after a third, and given up after nine tenths."""
    store, lost = BrokenStore(*errors), threading.Event()
    with renewer(store, 2.4) as renewing:
        held = Held(LEASE, deadline_of(monotonic(), 2.4))
        renewing.hold(held, lost.set)
        assert store.renewed.wait(2 * 2.4)
    assert not lost.is_set()
    assert store.opened == 1 + len(errors)


# What a handler does itself


class CommittingStore(MemoryJobStore):
    """Whenever it is asked from outside, its only job is being committed."""

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        return Renewed(set(), {each.job_id for each in leases})


async def work(store: MemoryJobStore, handler: Handler, *, lease: float) -> None:
    settings = JobsSettings(lease=lease, concurrency=1, max_attempts=1, store_patience=1)
    await store.enqueue([NewJob(LEASE.shard)])
    with renewer(CommittingStore(), lease) as renewing:
        worker = Worker(store, renewing, handler, owner="me", settings=settings, rng=random.Random(1))
        await worker.run_until_idle()


@pytest.mark.anyio
async def test_a_lease_that_nobody_finds_time_to_renew_is_renewed_between_commits() -> None:
    deadlines: set[float] = set()

    async def handler(held: Held) -> None:
        while len(deadlines) < 4:
            await held.keep()
            deadlines.add(held.deadline)
            await asyncio.sleep(0)
        assert not held.lost

    store = MemoryJobStore()
    await work(store, handler, lease=0.6)
    [job] = await store.list()
    assert (job.status, job.attempts_total) == ("done", 1)


@pytest.mark.anyio
async def test_whoever_renews_between_commits_hears_that_the_lease_is_lost() -> None:
    async def handler(held: Held) -> None:
        await store.release(held.lease, counted={})
        [other] = await store.claim("other", limit=1, lease=30, max_vanished=5)
        held.deadline = monotonic() + 0.2
        with pytest.raises(LeaseLost):
            await held.keep()
        await store.fail(other, Failure("x", "y"), retry_in=None, counted={})
        held.ended = True

    store = MemoryJobStore()
    await work(store, handler, lease=30)
