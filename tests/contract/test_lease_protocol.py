"""The lease protocol as a machine: whatever workers do in whatever order, paused, late, deaf or doubled, each store
agrees with a plain model of it.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from support.job_backend import JobBackend
from support.job_stores import JOB_STORES, age_memory
from support.leases.broken import IgnoresRaisedFences, RepeatsFences
from support.memory_jobs import MemoryJobStore
from waypost.scaling.jobs.job import Done, Failure, Lease, LeaseLost, NewJob, Status

LEASE = 30.0
MAX_ATTEMPTS = 3
SHARDS = [f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(4)]
GROUPS = ["one", "two"]
FAILURE = Failure("provider-unavailable", "it is away")


@dataclass
class Known:
    """What the model knows of one job."""

    status: Status = "pending"
    fence: int = 0
    attempts: int = 0
    attempts_total: int = 0
    failures: int = 0
    cursor: str | None = None
    counted: int = 0
    # in seconds of the model's clock
    lease_until: float = 0.0
    due: float = 0.0
    # who waits for it, and who did and has cancelled
    wanted_by: set[str] = field(default_factory=set)
    cancelled_by: set[str] = field(default_factory=set)

    @property
    def is_unfinished(self) -> bool:
        return self.status in {"pending", "leased"}

    def join(self, groups: set[str]) -> None:
        self.wanted_by |= groups
        self.cancelled_by -= groups
        if self.status == "cancelled":
            self.status, self.attempts, self.failures = "pending", 0, 0

    def status_for(self, group: str) -> Status:
        return "cancelled" if group in self.cancelled_by and self.is_unfinished else self.status


@dataclass
class Model:
    now: float = 0.0
    jobs: dict[str, Known] = field(default_factory=dict)
    highest_fence: int = 0

    def holds(self, lease: Lease) -> bool:
        job = self.jobs[lease.shard]
        return job.status == "leased" and job.fence == lease.fence

    def claimable(self) -> set[str]:
        return {
            shard
            for shard, job in self.jobs.items()
            if (job.status == "pending" and job.due <= self.now)
            or (job.status == "leased" and job.lease_until < self.now and job.attempts < MAX_ATTEMPTS)
        }

    def bury(self) -> None:
        for job in self.jobs.values():
            if job.status == "leased" and job.lease_until < self.now and job.attempts >= MAX_ATTEMPTS:
                job.status = "dead"


class LeaseProtocol(RuleBasedStateMachine):
    """Every lease ever given is kept in `leases`: any of them may come back at any time, however late."""

    backend_name = "memory"

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self.model = Model()
        self.leases: list[Lease] = []

    def run(self, work: Awaitable[Any]) -> Any:
        async def waited() -> Any:
            return await work

        return self._loop.run_until_complete(waited())

    @initialize()
    def open(self) -> None:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        self.backend: JobBackend = self.run(
            self._stack.enter_async_context(JOB_STORES[self.backend_name](Path(folder)))
        )
        self.jobs = self.backend.jobs

    def teardown(self) -> None:
        self.run(self._stack.aclose())
        self.run(self._loop.shutdown_default_executor())
        self._loop.close()

    @rule(chosen=st.sets(st.sampled_from(SHARDS), min_size=1), group=st.sampled_from(GROUPS))
    def enqueue(self, chosen: set[str], group: str) -> None:
        new = self.run(self.jobs.enqueue([NewJob(shard) for shard in sorted(chosen)], group=group))
        fresh = chosen - self.model.jobs.keys()
        again = {shard for shard in chosen - fresh if self.model.jobs[shard].status == "cancelled"}
        assert new == len(fresh | again)
        self.model.jobs |= {shard: Known(due=self.model.now) for shard in fresh}
        for shard in chosen:
            self.model.jobs[shard].join({group})

    @rule(group=st.sampled_from(GROUPS))
    def cancel(self, group: str) -> None:
        unfinished = [job for job in self.model.jobs.values() if job.is_unfinished and group in job.wanted_by]
        alone = [job for job in unfinished if job.wanted_by == {group}]
        assert self.run(self.jobs.cancel(group)) == len(alone)
        for job in unfinished:
            job.wanted_by.remove(group)
            job.cancelled_by.add(group)
        for job in alone:
            job.status = "cancelled"

    @rule(limit=st.integers(1, 5))
    def claim(self, limit: int) -> None:
        leases = self.run(self.jobs.claim("somebody", limit=limit, lease=LEASE, max_vanished=MAX_ATTEMPTS))
        self.model.bury()
        claimable = self.model.claimable()
        assert {lease.shard for lease in leases} <= claimable
        assert len(leases) == min(limit, len(claimable))
        assert len({lease.fence for lease in leases}) == len(leases), "a fence is given once"
        for lease in leases:
            job = self.model.jobs[lease.shard]
            assert lease.fence > self.model.highest_fence, "a fence is larger than all that were given before"
            assert lease.cursor == job.cursor
            job.status, job.fence, job.lease_until = "leased", lease.fence, self.model.now + LEASE
            job.attempts += 1
            job.attempts_total += 1
            assert (lease.attempts, lease.failures) == (job.attempts, job.failures)
        self.model.highest_fence = max([self.model.highest_fence, *(lease.fence for lease in leases)])
        self.leases += leases

    # No sum of them is the length of a lease: whether one that ends just now has ended is not the model's business.
    @rule(seconds=st.sampled_from([11.0, 31.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.run(self.backend.age(seconds))
        self.model.now += seconds

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        """Also late ones: whoever has the newest fence keeps the lease."""
        chosen = data.draw(
            st.lists(st.sampled_from(self.leases), min_size=1, max_size=3, unique_by=lambda each: each.job_id)
        )
        kept = self.run(self.jobs.renew(chosen, lease=LEASE)).kept
        assert kept == {lease.job_id for lease in chosen if self.model.holds(lease)}
        for lease in chosen:
            if self.model.holds(lease):
                self.model.jobs[lease.shard].lease_until = self.model.now + LEASE

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), twice=st.booleans())
    def complete(self, data: st.DataObject, *, twice: bool) -> None:
        """A reply may be lost, and then the acknowledgement is sent again."""
        chosen = data.draw(
            st.lists(st.sampled_from(self.leases), min_size=1, max_size=3, unique_by=lambda each: each.job_id)
        )
        kept = self.run(self.jobs.complete([Done(lease, {"pages": 1}) for lease in chosen]))
        assert kept == {lease.job_id for lease in chosen if self.model.holds(lease)}
        for lease in chosen:
            if self.model.holds(lease):
                self._end(lease, "done")
        if twice:
            assert self.run(self.jobs.complete([Done(lease, {"pages": 1}) for lease in chosen])) == set()

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def checkpoint(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        cursor = f"after:{len(self.leases)}"
        if self._changes(lease, lambda: self.jobs.checkpoint(lease, cursor=cursor, counted={"pages": 1})):
            job = self.model.jobs[lease.shard]
            job.cursor, job.attempts, job.failures, job.counted = cursor, 0, 0, job.counted + 1

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), retry_in=st.sampled_from([None, 0.0, 50.0]))
    def fail(self, data: st.DataObject, retry_in: float | None) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        if self._changes(lease, lambda: self.jobs.fail(lease, FAILURE, retry_in=retry_in, counted={"pages": 1})):
            self._end(lease, "dead" if retry_in is None else "pending", due=self.model.now + (retry_in or 0))
            self.model.jobs[lease.shard].failures += 1

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        if self._changes(lease, lambda: self.jobs.release(lease, counted={"pages": 1})):
            self._end(lease, "pending", due=self.model.now)
            self.model.jobs[lease.shard].attempts = 0

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        if len(self.model.jobs) > 20:
            return
        parts = [f"{lease.shard}/part:{number}" for number in range(2)]
        if self._changes(lease, lambda: self.jobs.split(lease, parts, counted={"pages": 1})):
            self._end(lease, "done")
            for part in parts:
                self.model.jobs.setdefault(part, Known(due=self.model.now))
                self.model.jobs[part].join(self.model.jobs[lease.shard].wanted_by)

    @rule(by=st.integers(0, 3))
    def raise_fences(self, by: int) -> None:
        self.model.highest_fence += by
        self.run(self.jobs.raise_fences(self.model.highest_fence))

    @rule()
    def revive(self) -> None:
        dead = [job for job in self.model.jobs.values() if job.status == "dead"]
        assert self.run(self.jobs.revive()) == len(dead)
        for job in dead:
            job.status, job.attempts, job.failures, job.due = "pending", 0, 0, self.model.now

    @invariant()
    def the_store_agrees_with_the_model(self) -> None:
        if not self.model.jobs:
            return
        found = {job.shard: job for job in self.run(self.jobs.list(limit=1000))}
        assert found.keys() == self.model.jobs.keys()
        for shard, known in self.model.jobs.items():
            job = found[shard]
            assert (job.status, job.fence, job.cursor) == (known.status, known.fence, known.cursor), shard
            tried = (known.attempts, known.attempts_total, known.failures)
            assert (job.attempts, job.attempts_total, job.failures) == tried, shard
            assert job.counters.get("pages", 0) == known.counted, shard
        for group in GROUPS:
            members = [job for job in self.model.jobs.values() if group in job.wanted_by | job.cancelled_by]
            assert self.run(self.jobs.tally(group)).jobs == Counter(job.status_for(group) for job in members), group

    def _changes(self, lease: Lease, change: Callable[[], Awaitable[None]]) -> bool:
        """Make a fenced change; it must be refused exactly when the lease is not current."""
        if self.model.holds(lease):
            self.run(change())
            return True
        with pytest.raises(LeaseLost):
            self.run(change())
        return False

    def _end(self, lease: Lease, status: Status, due: float = 0.0) -> None:
        job = self.model.jobs[lease.shard]
        job.status, job.due, job.counted = status, due, job.counted + 1


@pytest.mark.parametrize("broken", [RepeatsFences, IgnoresRaisedFences])
def test_fences_that_do_not_grow_are_noticed(broken: type[MemoryJobStore], monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def opening(_folder: Path) -> AsyncIterator[JobBackend]:
        store = broken()

        async def age(seconds: float) -> None:
            age_memory(store, seconds)

        yield JobBackend(store, age, lambda: nullcontext(store))

    monkeypatch.setitem(JOB_STORES, "memory", opening)
    # The first run that fails will do; to look for a shorter one takes a minute.
    quick = settings(
        database=None, deadline=None, derandomize=True, phases=[Phase.generate], report_multiple_bugs=False
    )
    with pytest.raises(AssertionError, match="a fence is"):
        run_state_machine_as_test(LeaseProtocol, settings=quick)


@pytest.mark.parametrize("name", JOB_STORES)
def test_whatever_happens_the_store_agrees_with_the_model(name: str) -> None:
    quick = name in {"memory", "sqlite"}
    machine = type(f"LeaseProtocolOn{name.title()}", (LeaseProtocol,), {"backend_name": name})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=30 if quick else 8,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
