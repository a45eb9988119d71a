"""What every job store does, whatever it is built on."""

import asyncio
import itertools

import pytest

from support.stores import Backend
from waypost.scaling.jobs.job import Failure, Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore

pytestmark = pytest.mark.anyio

SHARDS = [f"ocm/country:{code}/full:2026-02-21" for code in ("DE", "FR", "NL")]
FAILURE = Failure("provider-unavailable", "it is away")


@pytest.fixture
def jobs(backend: Backend) -> JobStore:
    return backend.stores.jobs


async def claim(jobs: JobStore, limit: int = 1, *, owner: str = "me", max_attempts: int = 5) -> list[Lease]:
    return list(await jobs.claim(owner, limit=limit, lease=30, max_attempts=max_attempts))


async def test_scheduling_twice_adds_nothing(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS, group="one")
    await jobs.enqueue(SHARDS, group="one")
    assert [job.shard for job in await jobs.list()] == SHARDS


async def test_a_job_may_serve_several_groups(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS, group="one")
    await jobs.enqueue(SHARDS[:2], group="two")
    assert (await jobs.tally("one")).total == 3
    assert (await jobs.tally("two")).total == 2
    assert [job.shard for job in await jobs.list(group="two")] == SHARDS[:2]


async def test_a_group_only_sees_what_was_counted_since_it_began(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS[:1], group="one")
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={"requests": 3})
    await jobs.enqueue(SHARDS[:1], group="two")
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={"requests": 2})
    assert (await jobs.tally("one")).counters["requests"] == 5
    assert (await jobs.tally("two")).counters["requests"] == 2


async def test_a_claim_takes_no_more_than_its_limit_and_nobody_else_gets_them(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS, group="one")
    mine = await claim(jobs, 2)
    theirs = await claim(jobs, 5, owner="them")
    assert len(mine) == 2
    assert [lease.shard for lease in theirs] == [SHARDS[2]]
    assert await claim(jobs, 5) == []


async def test_a_claim_can_be_kept_to_one_group(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS[:1], group="one")
    await jobs.enqueue(SHARDS[1:], group="two")
    leases = await jobs.claim("me", limit=5, lease=30, max_attempts=5, group="two")
    assert [lease.shard for lease in leases] == SHARDS[1:]


async def test_many_claimers_never_share_a_job(backend: Backend) -> None:
    shards = [f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(60)]
    await backend.stores.jobs.enqueue(shards, group="one")

    async def drain(owner: str) -> list[str]:
        taken: list[str] = []
        async with backend.open_again() as stores:
            while leases := await stores.jobs.claim(owner, limit=3, lease=30, max_attempts=5):
                taken += [lease.shard for lease in leases]
        return taken

    taken = await asyncio.gather(*(drain(f"worker {number}") for number in range(4)))
    assert sorted(itertools.chain(*taken)) == sorted(shards)


async def test_fences_only_grow(backend: Backend) -> None:
    jobs = backend.stores.jobs
    await jobs.enqueue(SHARDS, group="one")
    fences = [lease.fence for lease in await claim(jobs, 3)]
    for _ in range(3):
        backend.age(31)
        fences += [lease.fence for lease in await claim(jobs, 3)]
    assert fences == sorted(set(fences))


async def test_an_expired_lease_is_claimable_again_with_its_cursor_and_the_old_fence_is_worthless(
    backend: Backend,
) -> None:
    jobs = backend.stores.jobs
    await jobs.enqueue(SHARDS[:1], group="one")
    [old] = await claim(jobs)
    assert await claim(jobs) == []
    backend.age(31)
    [new] = await claim(jobs, owner="other")
    assert new.fence > old.fence
    assert new.attempts == 2
    assert await jobs.renew([old], lease=30) == set()
    with pytest.raises(LeaseLost):
        await jobs.fail(old, FAILURE, retry_in=0, counted={})
    with pytest.raises(LeaseLost):
        await jobs.release(old, counted={})
    found = await jobs.get(old.shard)
    assert found
    assert (found.status, found.lease_owner, found.fence) == ("leased", "other", new.fence)


async def test_a_late_renewal_whose_fence_is_still_current_succeeds(backend: Backend) -> None:
    jobs = backend.stores.jobs
    await jobs.enqueue(SHARDS[:1], group="one")
    [lease] = await claim(jobs)
    backend.age(31)
    assert await jobs.renew([lease], lease=30) == {lease.job_id}
    assert await claim(jobs, owner="other") == []


async def test_a_failed_job_waits_and_then_comes_back_with_its_reason(backend: Backend) -> None:
    jobs = backend.stores.jobs
    await jobs.enqueue(SHARDS[:1], group="one")
    [lease] = await claim(jobs)
    await jobs.fail(lease, FAILURE, retry_in=60, counted={"requests": 1})
    assert await claim(jobs) == []
    backend.age(61)
    [again] = await claim(jobs)
    job = await jobs.get(again.job_id)
    assert job
    assert (job.last_error_code, job.last_error_message) == ("provider-unavailable", "it is away")
    assert job.last_error_at is not None
    assert (job.attempts, job.attempts_total, job.counters) == (2, 2, {"requests": 1})


async def test_a_dead_job_stays_dead_until_a_person_revives_it(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS[:2], group="one")
    for lease in await claim(jobs, 2):
        await jobs.fail(lease, FAILURE, retry_in=None, counted={})
    await jobs.enqueue(SHARDS[:2], group="two")
    assert await claim(jobs, 2) == []
    assert {job.finished_at is not None for job in await jobs.list(status="dead")} == {True}
    assert await jobs.revive([SHARDS[0], "ocm/country:XX/full:2026-01-01"]) == 1
    [lease] = await claim(jobs, 2)
    assert (lease.shard, lease.attempts) == (SHARDS[0], 1)
    assert await jobs.revive() == 1


async def test_a_job_that_kills_its_workers_ends_up_dead(backend: Backend) -> None:
    jobs = backend.stores.jobs
    await jobs.enqueue(SHARDS[:1], group="one")
    for _ in range(3):
        assert await claim(jobs, max_attempts=3)
        backend.age(31)
    assert await claim(jobs, max_attempts=3) == []
    [job] = await jobs.list(status="dead")
    assert (job.last_error_code, job.attempts_total) == ("lease-expired", 3)


async def test_a_released_job_is_pending_at_once_and_the_attempt_does_not_count(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS[:1], group="one")
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={})
    [again] = await claim(jobs)
    assert again.attempts == 1


async def test_what_a_dead_worker_of_a_name_left_behind_can_be_released_at_once(jobs: JobStore) -> None:
    await jobs.enqueue(SHARDS, group="one")
    await claim(jobs, 2, owner="up")
    await claim(jobs, 1, owner="other")
    assert await jobs.release_owner("up") == 2
    assert len(await claim(jobs, 3)) == 2


async def test_an_unknown_job_is_none_and_an_empty_store_is_empty(jobs: JobStore) -> None:
    assert await jobs.get("ocm/country:DE/full:2026-02-21") is None
    assert await jobs.list() == []
    assert await claim(jobs, 10) == []
    assert (await jobs.tally("nobody")).total == 0
