"""What every job store does, whatever it is built on."""

import asyncio
import contextlib
import itertools
from collections.abc import Sequence

import pytest

from support.job_backend import JobBackend
from waypost.scaling.jobs.job import Done, Failure, Lease, LeaseLost, NewJob
from waypost.scaling.jobs.store import JobStore

pytestmark = pytest.mark.anyio

SHARDS = [f"ocm/country:{code}/full:2026-02-21" for code in ("DE", "FR", "NL")]
FAILURE = Failure("provider-unavailable", "it is away")


@pytest.fixture
def jobs(job_backend: JobBackend) -> JobStore:
    return job_backend.jobs


async def enqueue(jobs: JobStore, shards: Sequence[str], group: str | None = "one") -> int:
    return await jobs.enqueue([NewJob(shard) for shard in shards], group=group)


async def claim(jobs: JobStore, limit: int = 1, *, owner: str = "me", max_vanished: int = 5) -> list[Lease]:
    return list(await jobs.claim(owner, limit=limit, lease=30, max_vanished=max_vanished))


async def test_scheduling_twice_adds_nothing(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS, "one")
    await enqueue(jobs, SHARDS, "one")
    assert [job.shard for job in await jobs.list()] == SHARDS


async def test_a_job_may_serve_several_groups(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS, "one")
    await enqueue(jobs, SHARDS[:2], "two")
    assert (await jobs.tally("one")).total == 3
    assert (await jobs.tally("two")).total == 2
    assert [job.shard for job in await jobs.list(group="two")] == SHARDS[:2]


async def test_a_group_only_sees_what_was_counted_since_it_began(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1], "one")
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={"requests": 3})
    await enqueue(jobs, SHARDS[:1], "two")
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={"requests": 2})
    assert (await jobs.tally("one")).counters["requests"] == 5
    assert (await jobs.tally("two")).counters["requests"] == 2


async def test_a_claim_takes_no_more_than_its_limit_and_nobody_else_gets_them(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS, "one")
    mine = await claim(jobs, 2)
    theirs = await claim(jobs, 5, owner="them")
    assert len(mine) == 2
    assert [lease.shard for lease in theirs] == [SHARDS[2]]
    assert await claim(jobs, 5) == []


async def test_a_claim_can_be_kept_to_one_group(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1], "one")
    await enqueue(jobs, SHARDS[1:], "two")
    leases = await jobs.claim("me", limit=5, lease=30, max_vanished=5, group="two")
    assert [lease.shard for lease in leases] == SHARDS[1:]


async def test_many_claimers_never_share_a_job(job_backend: JobBackend) -> None:
    shards = [f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(60)]
    await enqueue(job_backend.jobs, shards, "one")

    async def drain(owner: str) -> list[str]:
        taken: list[str] = []
        async with job_backend.open_again() as other:
            while leases := await other.claim(owner, limit=3, lease=30, max_vanished=5):
                taken += [lease.shard for lease in leases]
        return taken

    taken = await asyncio.gather(*(drain(f"worker {number}") for number in range(4)))
    assert sorted(itertools.chain(*taken)) == sorted(shards)


async def test_fences_only_grow(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS, "one")
    fences = [lease.fence for lease in await claim(jobs, 3)]
    for _ in range(3):
        await job_backend.age(31)
        fences += [lease.fence for lease in await claim(jobs, 3)]
    assert fences == sorted(set(fences))


async def test_an_expired_lease_is_claimable_again_with_its_cursor_and_the_old_fence_is_worthless(
    job_backend: JobBackend,
) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1], "one")
    [old] = await claim(jobs)
    assert await claim(jobs) == []
    await job_backend.age(31)
    [new] = await claim(jobs, owner="other")
    assert new.fence > old.fence
    assert new.attempts == 2
    assert (await jobs.renew([old], lease=30)).kept == set()
    with pytest.raises(LeaseLost):
        await jobs.fail(old, FAILURE, retry_in=0, counted={})
    with pytest.raises(LeaseLost):
        await jobs.release(old, counted={})
    found = await jobs.get(old.shard)
    assert found
    assert (found.status, found.lease_owner, found.fence) == ("leased", "other", new.fence)


async def test_a_late_renewal_whose_fence_is_still_current_succeeds(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1], "one")
    [lease] = await claim(jobs)
    await job_backend.age(31)
    assert (await jobs.renew([lease], lease=30)).kept == {lease.job_id}
    assert await claim(jobs, owner="other") == []


async def test_a_failed_job_waits_and_then_comes_back_with_its_reason(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1], "one")
    [lease] = await claim(jobs)
    await jobs.fail(lease, FAILURE, retry_in=60, counted={"requests": 1})
    assert await claim(jobs) == []
    await job_backend.age(61)
    [again] = await claim(jobs)
    job = await jobs.get(again.job_id)
    assert job
    assert (job.last_error_code, job.last_error_message) == ("provider-unavailable", "it is away")
    assert job.last_error_at is not None
    assert (job.attempts, job.attempts_total, job.counters) == (2, 2, {"requests": 1})


async def test_a_dead_job_stays_dead_until_a_person_revives_it(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:2], "one")
    for lease in await claim(jobs, 2):
        await jobs.fail(lease, FAILURE, retry_in=None, counted={})
    await enqueue(jobs, SHARDS[:2], "two")
    assert await claim(jobs, 2) == []
    assert {job.finished_at is not None for job in await jobs.list(status="dead")} == {True}
    assert await jobs.revive([SHARDS[0], "ocm/country:XX/full:2026-01-01"]) == 1
    [lease] = await claim(jobs, 2)
    assert (lease.shard, lease.attempts) == (SHARDS[0], 1)
    assert await jobs.revive() == 1


async def test_what_was_done_can_be_done_again_from_its_beginning(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:2], "one")
    done, leased = await claim(jobs, 2)
    await jobs.checkpoint(done, cursor="after:1", counted={"requests": 1})
    await jobs.complete([Done(done)])
    assert await jobs.redo([done.shard, leased.shard, "ocm/country:XX/full:2026-01-01"]) == 1
    [again] = await claim(jobs, 2)
    assert (again.shard, again.cursor, again.attempts) == (done.shard, None, 1)
    assert again.fence > leased.fence > 0


async def test_a_job_that_kills_its_workers_ends_up_dead(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1], "one")
    for _ in range(3):
        assert await claim(jobs, max_vanished=3)
        await job_backend.age(31)
    assert await claim(jobs, max_vanished=3) == []
    [job] = await jobs.list(status="dead")
    assert (job.last_error_code, job.attempts_total) == ("lease-expired", 3)


async def test_workers_that_vanish_and_tries_that_fail_are_counted_apart(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1], "one")
    for _ in range(3):
        await claim(jobs)
        await job_backend.age(31)
    [lease] = await claim(jobs)
    assert (lease.attempts, lease.failures) == (4, 0)
    await jobs.fail(lease, FAILURE, retry_in=0, counted={})
    [lease] = await claim(jobs)
    assert (lease.attempts, lease.failures) == (5, 1)
    await jobs.checkpoint(lease, cursor="after:1", counted={})
    [job] = await jobs.list()
    assert (job.attempts, job.failures) == (0, 0)


async def test_a_job_that_was_given_back_has_not_killed_its_worker(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1], "one")
    [failed] = await claim(jobs)
    await jobs.fail(failed, FAILURE, retry_in=0, counted={})
    for _ in range(3):
        for _ in range(2):
            await claim(jobs, max_vanished=3)
            await job_backend.age(31)
        [lease] = await claim(jobs, max_vanished=4)
        await jobs.release(lease, counted={})
    [lease] = await claim(jobs, max_vanished=3)
    assert (lease.attempts, lease.failures) == (1, 1)


async def test_a_released_job_is_pending_at_once_and_the_attempt_does_not_count(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1], "one")
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={})
    [again] = await claim(jobs)
    assert again.attempts == 1


async def test_a_job_can_be_given_back_for_later(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1])
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={}, delay=60)
    assert await claim(jobs) == []
    await job_backend.age(61)
    [again] = await claim(jobs)
    assert again.attempts == 1


async def test_a_job_that_is_given_back_may_say_what_it_waits_for(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1])
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={}, why=FAILURE)
    [job] = await jobs.list()
    assert (job.status, job.attempts) == ("pending", 0)
    assert (job.last_error_code, job.last_error_message) == (FAILURE.code, FAILURE.message)
    assert job.last_error_at is not None
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={})
    assert (await jobs.list())[0].last_error_code == FAILURE.code


async def test_what_a_dead_worker_of_a_name_left_behind_can_be_released_at_once(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS, "one")
    await claim(jobs, 2, owner="up")
    await claim(jobs, 1, owner="other")
    assert await jobs.release_owner("up", max_vanished=5) == 2
    assert len(await claim(jobs, 3)) == 2


async def test_a_job_that_kills_its_worker_at_every_start_goes_dead(jobs: JobStore) -> None:
    killing, harmless = SHARDS[:2]
    await enqueue(jobs, [killing, harmless], "one")
    for _ in range(3):
        held = {lease.shard: lease for lease in await claim(jobs, 2, owner="up")}
        await jobs.checkpoint(held[harmless], cursor="after:9", counted={})
        assert await jobs.release_owner("up", max_vanished=3) == 2
    [left] = await claim(jobs, 2)
    assert left.shard == harmless
    [job] = await jobs.list(status="dead")
    assert (job.shard, job.last_error_code, job.attempts_total) == (killing, "lease-expired", 3)
    assert (await jobs.tally("one")).jobs == {"dead": 1, "leased": 1}


async def test_fences_can_be_raised_above_what_another_store_has_seen_and_never_lowered(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS)
    [before] = await claim(jobs)
    await jobs.raise_fences(before.fence + 100_000)
    [after] = await claim(jobs)
    await jobs.raise_fences(1)
    [last] = await claim(jobs)
    assert before.fence + 100_000 < after.fence < last.fence


async def test_the_first_fence_of_a_store_is_larger_than_the_lowest_that_another_has_seen(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS)
    await jobs.raise_fences(1)
    [lease] = await claim(jobs)
    assert lease.fence > 1


async def test_fences_that_one_process_raised_are_raised_for_all(job_backend: JobBackend) -> None:
    await enqueue(job_backend.jobs, SHARDS)
    [before] = await claim(job_backend.jobs)
    async with job_backend.open_again() as other:
        await other.raise_fences(before.fence + 5000)
    [after] = await claim(job_backend.jobs)
    assert after.fence > before.fence + 5000


async def test_a_key_that_is_enqueued_anew_gets_a_larger_fence_from_whoever_claims_it(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1])
    # So that this process has fences at hand, where processes reserve some.
    [lease] = await claim(jobs)
    await jobs.release(lease, counted={})
    async with job_backend.open_again() as other:
        [before] = await claim(other)
        await other.complete([Done(before)])
        await job_backend.age(100)
        assert await other.prune(older_than=10) == 1
    await enqueue(jobs, SHARDS[:1])
    [after] = await claim(jobs)
    assert after.fence > before.fence


async def test_an_unknown_job_is_none_and_an_empty_store_is_empty(jobs: JobStore) -> None:
    assert await jobs.get("ocm/country:DE/full:2026-02-21") is None
    assert await jobs.list() == []
    assert await claim(jobs, 10) == []
    assert (await jobs.tally("nobody")).total == 0


async def test_enqueueing_says_how_many_were_new(jobs: JobStore) -> None:
    assert await enqueue(jobs, SHARDS[:2]) == 2
    assert await enqueue(jobs, SHARDS) == 1
    assert await enqueue(jobs, SHARDS, None) == 0
    assert await enqueue(jobs, []) == 0


async def test_higher_priorities_come_first_and_nothing_comes_before_it_is_due(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await jobs.enqueue([NewJob(SHARDS[0]), NewJob(SHARDS[1], priority=5), NewJob(SHARDS[2], priority=9, delay=60)])
    assert [lease.shard for lease in await claim(jobs, 3)] == [SHARDS[1], SHARDS[0]]
    await job_backend.age(61)
    assert SHARDS[2] in [lease.shard for lease in await claim(jobs, 3, owner="later")]


async def test_a_checkpoint_keeps_the_cursor_for_whoever_comes_next_and_forgives_attempts(
    job_backend: JobBackend,
) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1])
    [lease] = await claim(jobs)
    await jobs.checkpoint(lease, cursor="after:7", counted={"pages": 1})
    await job_backend.age(31)
    [again] = await claim(jobs)
    assert (again.cursor, again.attempts) == ("after:7", 1)
    with pytest.raises(LeaseLost):
        await jobs.checkpoint(lease, cursor="after:3", counted={"pages": 1})
    found = await jobs.get(SHARDS[0])
    assert found
    assert (found.cursor, found.counters, found.attempts_total) == ("after:7", {"pages": 1}, 2)


async def test_many_are_completed_at_once_and_a_stale_one_among_them_changes_nothing(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS)
    [stale] = await claim(jobs)
    await job_backend.age(31)
    current = await claim(jobs, 3)
    kept = await jobs.complete([Done(stale), *(Done(lease, {"pages": 1}) for lease in current[1:])])
    assert kept == {lease.job_id for lease in current[1:]}
    assert await jobs.count() == {"done": 2, "leased": 1}
    [done, _] = await jobs.list(status="done")
    assert done.counters == {"pages": 1}
    assert done.finished_at is not None
    assert done.lease_owner is None


async def test_an_acknowledgement_that_is_sent_twice_changes_nothing_the_second_time(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1])
    [lease] = await claim(jobs)
    assert await jobs.complete([Done(lease, {"pages": 1})]) == {lease.job_id}
    assert await jobs.complete([Done(lease, {"pages": 1})]) == set()
    found = await jobs.get(SHARDS[0])
    assert found
    assert found.counters == {"pages": 1}
    assert await jobs.complete([]) == set()


async def test_a_split_ends_the_job_and_its_parts_are_wanted_by_the_same_groups(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1], "one")
    await enqueue(jobs, SHARDS[:1], "two")
    [lease] = await claim(jobs)
    parts = [f"{SHARDS[0]}/ids:0..500", f"{SHARDS[0]}/ids:500..1000"]
    await jobs.split(lease, parts, counted={"requests": 1})
    for group in ("one", "two"):
        tally = await jobs.tally(group)
        assert tally.jobs == {"done": 1, "pending": 2}
        assert tally.counters["requests"] == 1
    with pytest.raises(LeaseLost):
        await jobs.split(lease, parts, counted={})
    assert sorted(each.shard for each in await claim(jobs, 5)) == parts


async def test_a_stale_split_adds_nothing(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1])
    [stale] = await claim(jobs)
    await job_backend.age(31)
    await claim(jobs)
    with pytest.raises(LeaseLost):
        await jobs.split(stale, [f"{SHARDS[0]}/ids:0..500"], counted={})
    assert len(await jobs.list()) == 1


async def test_pruning_forgets_what_ended_long_ago_and_nothing_else(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS)
    done, dead, _ = await claim(jobs, 3)
    await jobs.complete([Done(done)])
    await jobs.fail(dead, FAILURE, retry_in=None, counted={})
    assert await jobs.prune(older_than=3600) == 0
    await job_backend.age(3601)
    assert await jobs.prune(older_than=3600) == 1
    assert await jobs.get(done.shard) is None
    assert (await jobs.tally("one")).total == 2
    assert await enqueue(jobs, [done.shard]) == 1
    assert await jobs.prune(older_than=3600, statuses=["dead"]) == 1


async def test_pruning_may_be_told_how_keys_begin_and_how_many_to_forget(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    many = [f"ocm/country:DE/full:2026-02-{day:02}" for day in range(1, 6)]
    await enqueue(jobs, ["ocm%/a:1", *many, "ocpi/country:DE/full:2026-02-21"])
    await jobs.complete([Done(lease) for lease in await claim(jobs, 7)])
    await job_backend.age(3601)
    assert await jobs.prune(older_than=3600, prefix="ocm/country:FR") == 0
    assert await jobs.prune(older_than=3600, prefix="ocm/", limit=2) == 2
    assert await jobs.prune(older_than=3600, statuses=["cancelled", "done"], prefix="ocm/", limit=2) == 2
    assert await jobs.prune(older_than=3600, prefix="ocm/") == 1
    assert sorted(job.shard for job in await jobs.list()) == ["ocm%/a:1", "ocpi/country:DE/full:2026-02-21"]
    assert await jobs.prune(older_than=3600, limit=1) == 1
    assert await jobs.prune(older_than=3600) == 1


async def test_jobs_are_listed_by_status_and_by_how_their_keys_begin(jobs: JobStore) -> None:
    await enqueue(jobs, [*SHARDS, "ocpi/country:DE/full:2026-02-21", "ocm%/weird:_/x:1"])
    assert len(await jobs.list(prefix="ocm/")) == 3
    assert [job.shard for job in await jobs.list(prefix="ocm/country:D")] == SHARDS[:1]
    assert len(await jobs.list(limit=2)) == 2
    await claim(jobs)
    assert len(await jobs.list(status="leased")) == 1


async def status_of(jobs: JobStore, shard: str) -> str:
    job = await jobs.get(shard)
    assert job
    return job.status


async def test_cancelling_ends_what_is_unfinished_and_nobody_else_wants(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS, "one")
    done, held = await claim(jobs, 2)
    await jobs.complete([Done(done, {"pages": 2})])
    assert await jobs.cancel("one") == 2
    tally = await jobs.tally("one")
    assert (tally.jobs, tally.counters["pages"]) == ({"done": 1, "cancelled": 2}, 2)
    for job in await jobs.list(status="cancelled"):
        assert (job.lease_owner, job.lease_until) == (None, None)
        assert job.finished_at is not None
    assert held.job_id in {job.id for job in await jobs.list(group="one")}
    assert await claim(jobs, 5) == []


async def test_cancelling_twice_or_what_is_not_there_changes_nothing(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS, "one")
    assert await jobs.cancel("nobody") == 0
    assert await jobs.cancel("one") == 3
    assert await jobs.cancel("one") == 0
    assert await jobs.count() == {"cancelled": 3}


async def test_whoever_holds_a_cancelled_job_has_lost_it(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:1], "one")
    [lease] = await claim(jobs)
    await jobs.cancel("one")
    assert (await jobs.renew([lease], lease=30)).kept == set()
    assert await jobs.complete([Done(lease)]) == set()
    for change in (
        jobs.checkpoint(lease, cursor="after:7", counted={}),
        jobs.split(lease, ["ocm/country:DE/ids:0..1"], counted={}),
        jobs.fail(lease, FAILURE, retry_in=0, counted={}),
        jobs.release(lease, counted={}),
    ):
        with pytest.raises(LeaseLost):
            await change
    await job_backend.age(31)
    assert await claim(jobs) == []
    assert [job.status for job in await jobs.list()] == ["cancelled"]


async def test_a_job_stays_while_another_group_wants_it_and_goes_with_the_last(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:2], "one")
    await enqueue(jobs, SHARDS[1:], "two")
    [lease] = await jobs.claim("me", limit=1, lease=30, max_vanished=5, group="two")
    assert await jobs.cancel("one") == 1
    assert await status_of(jobs, SHARDS[0]) == "cancelled"
    assert (await jobs.renew([lease], lease=30)).kept == {lease.job_id}
    assert await jobs.cancel("two") == 2
    assert await jobs.count() == {"cancelled": 3}


async def test_what_others_go_on_with_is_cancelled_for_the_group_until_it_has_ended(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1], "one")
    await enqueue(jobs, SHARDS[:1], "two")
    await jobs.cancel("one")
    assert (await jobs.tally("one")).jobs == {"cancelled": 1}
    assert (await jobs.tally("two")).jobs == {"pending": 1}
    assert await jobs.claim("me", limit=1, lease=30, max_vanished=5, group="one") == []
    [lease] = await jobs.claim("me", limit=1, lease=30, max_vanished=5, group="two")
    assert (await jobs.tally("one")).jobs == {"cancelled": 1}
    await jobs.complete([Done(lease, {"pages": 1})])
    for group in ("one", "two"):
        tally = await jobs.tally(group)
        assert (tally.jobs, tally.counters["pages"]) == ({"done": 1}, 1)


async def test_a_dead_job_is_not_cancelled(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:2], "one")
    [lease] = await claim(jobs)
    await jobs.fail(lease, FAILURE, retry_in=None, counted={})
    assert await jobs.cancel("one") == 1
    assert (await jobs.tally("one")).jobs == {"dead": 1, "cancelled": 1}
    await jobs.revive()
    assert await jobs.cancel("one") == 1


async def test_enqueueing_a_cancelled_job_makes_it_pending_with_its_cursor(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS[:2], "one")
    [lease] = await claim(jobs)
    await jobs.checkpoint(lease, cursor="after:7", counted={"pages": 1})
    await jobs.cancel("one")
    assert await enqueue(jobs, SHARDS, "two") == 3
    assert (await jobs.tally("one")).jobs == {"cancelled": 2}
    assert (await jobs.tally("two")).jobs == {"pending": 3}
    again = {each.shard: each for each in await claim(jobs, 3)}
    assert (again[lease.shard].cursor, again[lease.shard].attempts) == ("after:7", 1)
    assert again[lease.shard].fence > lease.fence
    assert await jobs.cancel("one") == 0
    assert await jobs.cancel("two") == 3


async def test_a_group_that_enqueues_again_wants_what_it_had_cancelled(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:2], "one")
    await enqueue(jobs, SHARDS[1:2], "two")
    [lease] = await jobs.claim("me", limit=1, lease=30, max_vanished=5, group="one")
    await jobs.release(lease, counted={"pages": 1})
    await jobs.cancel("one")
    assert await enqueue(jobs, SHARDS[:2], "one") == 1
    tally = await jobs.tally("one")
    assert (tally.jobs, tally.counters["pages"]) == ({"pending": 2}, 1)
    assert await jobs.cancel("two") == 0
    assert len(await jobs.claim("me", limit=5, lease=30, max_vanished=5, group="one")) == 2
    assert await jobs.cancel("one") == 2


async def test_the_parts_of_a_job_are_wanted_only_by_those_who_still_want_it(jobs: JobStore) -> None:
    await enqueue(jobs, SHARDS[:1], "one")
    await enqueue(jobs, SHARDS[:1], "two")
    [lease] = await claim(jobs)
    await jobs.cancel("one")
    parts = [f"{SHARDS[0]}/ids:0..500", f"{SHARDS[0]}/ids:500..1000"]
    await jobs.split(lease, parts, counted={})
    assert (await jobs.tally("one")).jobs == {"done": 1}
    assert (await jobs.tally("two")).jobs == {"done": 1, "pending": 2}
    assert await jobs.cancel("two") == 2


async def test_parts_that_were_cancelled_are_wanted_again_by_who_cuts_the_whole(jobs: JobStore) -> None:
    part = f"{SHARDS[0]}/ids:0..500"
    await enqueue(jobs, [part], "one")
    await jobs.cancel("one")
    await enqueue(jobs, SHARDS[:1], "two")
    [lease] = await claim(jobs)
    await jobs.split(lease, [part], counted={})
    assert await status_of(jobs, part) == "pending"
    assert (await jobs.tally("two")).jobs == {"done": 1, "pending": 1}


async def test_cancelled_jobs_are_pruned_and_leave_their_groups(job_backend: JobBackend) -> None:
    jobs = job_backend.jobs
    await enqueue(jobs, SHARDS, "one")
    await enqueue(jobs, SHARDS[:1], "two")
    await jobs.cancel("one")
    await job_backend.age(3601)
    assert await jobs.prune(older_than=3600) == 2
    assert (await jobs.tally("one")).jobs == {"cancelled": 1}
    await jobs.complete([Done(lease) for lease in await claim(jobs, 5)])
    await job_backend.age(3601)
    assert await jobs.prune(older_than=3600) == 1
    assert (await jobs.tally("one")).total == 0


async def test_of_many_that_cancel_and_enqueue_at_once_whoever_wants_a_job_last_gets_it(
    job_backend: JobBackend,
) -> None:
    """A job that some group wants is never left cancelled, and one that no group wants is never left pending."""
    shards = [f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(40)]

    async def want(name: str, *, backwards: bool) -> None:
        async with job_backend.open_again() as jobs:
            for _ in range(5):
                await enqueue(jobs, shards[::-1] if backwards else shards, name)
                await jobs.cancel(name)

    async def work() -> None:
        async with job_backend.open_again() as jobs:
            for _ in range(10):
                for lease in await claim(jobs, 7):
                    with contextlib.suppress(LeaseLost):
                        await jobs.release(lease, counted={})

    await asyncio.gather(want("one", backwards=False), want("two", backwards=True), work())
    assert await job_backend.jobs.count() == {"cancelled": 40}

    async def keep() -> None:
        async with job_backend.open_again() as jobs:
            for number in range(5):
                await enqueue(jobs, shards, f"keep {number}")

    await asyncio.gather(want("one", backwards=False), want("two", backwards=True), keep())
    assert await job_backend.jobs.count() == {"pending": 40}


async def test_whoever_cuts_a_job_while_it_is_cancelled_leaves_no_part_behind(job_backend: JobBackend) -> None:
    await enqueue(job_backend.jobs, [f"ocm/country:DE/ids:{number}..{number + 9}" for number in range(20)], "one")
    leases = await claim(job_backend.jobs, 20)

    async def cut() -> None:
        async with job_backend.open_again() as jobs:
            for lease in leases:
                with contextlib.suppress(LeaseLost):
                    await jobs.split(lease, [f"{lease.shard}/part:1", f"{lease.shard}/part:2"], counted={})

    async def cancel() -> None:
        async with job_backend.open_again() as jobs:
            await jobs.cancel("one")

    await asyncio.gather(cut(), cancel())
    assert (await job_backend.jobs.tally("one")).unfinished == 0
    found = await job_backend.jobs.count()
    assert set(found) <= {"done", "cancelled"}


async def test_a_waiter_comes_back_when_there_may_be_work(jobs: JobStore) -> None:
    await asyncio.wait_for(jobs.wait(0.05), timeout=10)


async def test_a_waiter_is_woken_by_another_process(job_backend: JobBackend) -> None:
    """Stores that notify return at once; the others poll, and come back soon by themselves."""
    async with job_backend.open_again() as other:
        waiting = asyncio.create_task(other.wait(30 if job_backend.jobs.capabilities.notifies else 1))
        await asyncio.sleep(0)
        while not waiting.done():
            await enqueue(job_backend.jobs, [f"ocm/country:DE/ids:{id(object())}..9"])
            await asyncio.wait({waiting}, timeout=0.1)
        await waiting
