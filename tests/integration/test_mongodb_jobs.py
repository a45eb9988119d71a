"""What only MongoDB can get wrong: plans, schema races, lost replies, fences that were reserved too early."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pymongo
import pytest
from pymongo.errors import AutoReconnect, OperationFailure
from structlog.testing import capture_logs

from support.forgetful_proxy import ForgetfulProxy
from support.job_store_mongodb import age_mongodb, clean_url, open_database
from support.servers.sharing import free_port
from waypost.adapters.errors import StoreAway, StoreTooNew, StoreTooOld
from waypost.adapters.mongodb import schema
from waypost.adapters.mongodb.arrivals import JobArrivals
from waypost.adapters.mongodb.database import MongoDatabase, Taken
from waypost.adapters.mongodb.documents import new_document
from waypost.adapters.mongodb.jobs import MongoJobStore
from waypost.kernel.clock import utc_now
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import TransientError
from waypost.scaling.jobs.job import Done, Failure, Lease, LeaseLost, NewJob, Renewed

pytestmark = pytest.mark.anyio

SHARDS = [f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(50)]


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with clean_url() as url:
        yield url


@pytest.fixture
async def database(url: str) -> AsyncIterator[MongoDatabase]:
    async with open_database(url, migrating=True) as database:
        yield database


@pytest.fixture
def jobs(database: MongoDatabase) -> MongoJobStore:
    return MongoJobStore(database)


async def enqueue(jobs: MongoJobStore, shards: list[str], group: str = "one") -> int:
    return await jobs.enqueue([NewJob(shard) for shard in shards], group=group)


async def claim(jobs: MongoJobStore, limit: int = 1, *, group: str | None = None, owner: str = "me") -> list[Lease]:
    return list(await jobs.claim(owner, limit=limit, lease=30, max_vanished=5, group=group))


# Plans


async def fill(database: MongoDatabase, number: int, **fields: Any) -> None:
    fresh = (new_document(NewJob(f"ocm/country:FR/ids:{at}..{at}"), utc_now(), ["one"]) for at in range(number))
    await database.jobs.insert_many([{**job, **fields, "shard": f"{job['shard']}/{fields}"} for job in fresh])


async def searches(database: MongoDatabase) -> list[dict[str, Any]]:
    """The searches that the server's profiler saw, each as `explain` explains it."""
    seen = await database.database["system.profile"].find({"command.find": "jobs"}).to_list()
    wanted = ("find", "filter", "sort", "projection", "hint", "limit")
    return [
        await database.database.command(
            "explain", {name: each["command"][name] for name in wanted if name in each["command"]}
        )
        for each in seen
    ]


def indexes_of(explained: dict[str, Any]) -> list[str]:
    stage = explained["queryPlanner"]["winningPlan"]
    found = []
    while stage:
        assert stage["stage"] not in {"COLLSCAN", "SORT"}
        found += [stage["indexName"]] if "indexName" in stage else []
        stage = stage.get("inputStage")
    return found


@pytest.mark.parametrize(("group", "index"), [(None, "pending"), ("one", "pending_by_group")])
async def test_claiming_reads_the_partial_indexes_alone_however_many_jobs_are_finished(
    database: MongoDatabase, jobs: MongoJobStore, group: str | None, index: str
) -> None:
    await fill(database, 20_000, status="done", finished_at=utc_now())
    await enqueue(jobs, SHARDS)
    await claim(jobs, 5)
    await age_mongodb(database, 31)
    await database.database.command("profile", 2)
    assert len(await claim(jobs, 10, group=group)) == 10
    await database.database.command("profile", 0)
    profile = await database.database["system.profile"].find({"ns": database.jobs.full_name}).to_list()
    assert profile
    assert all(each["docsExamined"] <= 10 for each in profile), profile
    assert {tuple(indexes_of(each)) for each in await searches(database)} == {("leased",), (index,), ("_id_",)}


@pytest.mark.parametrize("group", [None, "one"])
async def test_jobs_that_are_not_yet_due_do_not_slow_down_those_of_lower_priority(
    database: MongoDatabase, jobs: MongoJobStore, group: str | None
) -> None:
    await jobs.enqueue([NewJob(f"{shard}/late:1", priority=9, delay=60) for shard in SHARDS], group="one")
    await enqueue(jobs, SHARDS[:2])
    await database.database.command("profile", 2)
    assert len(await claim(jobs, 2, group=group)) == 2
    await database.database.command("profile", 0)
    profile = await database.database["system.profile"].find({"ns": database.jobs.full_name}).to_list()
    assert max(each["keysExamined"] for each in profile) < 10


# Schema


MIGRATE = """
import asyncio, sys
from waypost.adapters.mongodb.database import MongoDatabase

async def migrate():
    database = await MongoDatabase.open(sys.argv[1], migrating=True)
    await database.close()

asyncio.run(migrate())
"""


async def test_many_processes_may_make_the_schema_at_once(url: str) -> None:
    started = [asyncio.create_subprocess_exec(sys.executable, "-c", MIGRATE, url) for _ in range(6)]
    processes = await asyncio.gather(*started)
    assert await asyncio.gather(*(process.wait() for process in processes)) == [0] * 6
    async with open_database(url) as database:
        made = await database.jobs.index_information()
        assert set(made) == {"_id_", "shard", "pending", "pending_by_group", "leased", "dead", "groups", "ended"}
        jobs = MongoJobStore(database)
        await enqueue(jobs, SHARDS[:1])
        assert [lease.fence for lease in await claim(jobs)] == [1]


async def test_a_schema_that_only_newer_code_may_touch_is_refused(url: str, database: MongoDatabase) -> None:
    await database.database.schema.update_one({}, {"$set": {"version": 8, "oldest_code": 7}})
    for migrating in (True, False):
        with pytest.raises(StoreTooNew, match="needs schema 7"):
            await MongoDatabase.open(url, migrating=migrating)


async def test_a_newer_schema_that_still_allows_this_code_is_used_and_not_taken_back(
    url: str, database: MongoDatabase
) -> None:
    await database.database.schema.update_one({}, {"$set": {"version": 8}})
    await (await MongoDatabase.open(url, migrating=True)).close()
    found = await database.database.schema.find_one()
    assert found
    assert (found["version"], found["oldest_code"]) == (8, schema.OLDEST_CODE)


async def test_a_role_does_not_make_a_schema_but_says_who_does(url: str) -> None:
    with pytest.raises(StoreTooOld, match="waypost db migrate"):
        await MongoDatabase.open(url, migrating=False)


@pytest.mark.parametrize("bad", ["mongodb://", "mongodb://host:port/db", "mongodb://a:b@c@d/", "postgresql://x/y"])
async def test_a_url_that_is_none_is_a_setting_to_correct(bad: str) -> None:
    with pytest.raises(SettingError, match="MongoDB URL"):
        await MongoDatabase.open(bad, migrating=False)


# Connections


@pytest.fixture
async def proxy(url: str) -> AsyncIterator[ForgetfulProxy]:
    proxy = ForgetfulProxy(url)
    yield proxy
    await proxy.cut()


@asynccontextmanager
async def through(proxy: ForgetfulProxy) -> AsyncIterator[MongoJobStore]:
    async with open_database(await proxy.start()) as database:
        yield MongoJobStore(database)


async def test_a_server_that_is_not_there_is_worth_another_try() -> None:
    with pymongo.timeout(0.5), pytest.raises(StoreAway) as raised:
        await MongoDatabase.open(f"mongodb://127.0.0.1:{free_port()}/", migrating=True)
    assert isinstance(raised.value, TransientError)


async def test_a_connection_that_is_lost_is_worth_another_try(jobs: MongoJobStore, proxy: ForgetfulProxy) -> None:
    await enqueue(jobs, SHARDS)
    async with through(proxy) as cut_off:
        [lease] = await claim(cut_off)
        await proxy.cut()
        for call in (claim(cut_off), cut_off.complete([Done(lease)]), enqueue(cut_off, SHARDS)):
            with pymongo.timeout(0.5), pytest.raises(StoreAway):
                await call
    assert await jobs.complete([Done(lease)]) == {lease.job_id}


@pytest.mark.parametrize(("limit", "command"), [(1, "update"), (3, "update"), (3, "find")])
async def test_a_claim_whose_reply_was_lost_is_still_ours(
    jobs: MongoJobStore, proxy: ForgetfulProxy, limit: int, command: str
) -> None:
    await enqueue(jobs, SHARDS)
    async with through(proxy) as distant:
        # The first claim also reserves fences, with the command that the second one's reply is lost for.
        await claim(distant)
        proxy.lose_reply_to(command)
        leases = await claim(distant, limit)
        assert proxy.lost == 1
        assert len(leases) == limit
        assert {lease.attempts for lease in leases} == {1}
        assert len(await jobs.list(status="leased")) == limit + 1
        assert (await distant.renew(leases, lease=30)).kept == {lease.job_id for lease in leases}


async def test_a_claim_that_fails_half_way_returns_what_it_has_leased(
    jobs: MongoJobStore, database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue(jobs, SHARDS[:2])
    held = await claim(jobs, 2)
    await enqueue(jobs, SHARDS[2:3])
    await age_mongodb(database, 60)

    async def fail(*_given: Any) -> None:
        raise AutoReconnect("the connection was reset")

    monkeypatch.setattr(jobs._claims, "_lease", fail)
    leased = await claim(jobs, 3, owner="other")
    assert {each.job_id for each in leased} == {each.job_id for each in held}
    with pytest.raises(StoreAway):
        await claim(jobs, 3, owner="other")


async def test_so_does_one_that_fails_between_two_halves(
    jobs: MongoJobStore, database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue(jobs, SHARDS[:2])
    await claim(jobs, 2)
    await age_mongodb(database, 60)
    transaction, errors = database.transaction, [Taken(), None, AutoReconnect("the connection was reset")]

    async def fail_now_and_then(work: Any, **named: Any) -> Any:
        if error := errors.pop(0):
            raise error
        return await transaction(work, **named)

    monkeypatch.setattr(database, "transaction", fail_now_and_then)
    assert len(await claim(jobs, 2, owner="other")) == 1


async def test_acknowledgements_whose_reply_was_lost_count_once_and_are_still_ours(
    jobs: MongoJobStore, proxy: ForgetfulProxy
) -> None:
    await enqueue(jobs, SHARDS[:4])
    async with through(proxy) as distant:
        leases = await claim(distant, 4)
        await jobs.release(leases[3], counted={})
        proxy.lose_reply_to("update")
        kept = await distant.complete([Done(lease, {"pages": number % 2}) for number, lease in enumerate(leases)])
        assert proxy.lost == 1
        assert kept == {lease.job_id for lease in leases[:3]}
    assert (await jobs.tally("one")).counters == {"pages": 1}


@pytest.mark.parametrize("command", ["findAndModify", "insert", "commitTransaction"])
async def test_a_split_whose_reply_was_lost_happens_once(
    jobs: MongoJobStore, proxy: ForgetfulProxy, command: str
) -> None:
    await enqueue(jobs, SHARDS[:1])
    async with through(proxy) as distant:
        [lease] = await claim(distant)
        proxy.lose_reply_to(command)
        await distant.split(lease, SHARDS[1:3], counted={"requests": 1})
        assert proxy.lost == 1
    tally = await jobs.tally("one")
    assert (tally.jobs, tally.counters) == ({"done": 1, "pending": 2}, {"requests": 1})


async def test_a_release_whose_reply_was_lost_happens_once(jobs: MongoJobStore, proxy: ForgetfulProxy) -> None:
    await enqueue(jobs, SHARDS[:1])
    async with through(proxy) as distant:
        [lease] = await claim(distant)
        proxy.lose_reply_to("findAndModify")
        await distant.release(lease, counted={"requests": 1})
        assert proxy.lost == 1
    assert (await jobs.tally("one")).counters == {"requests": 1}


# Fences, conflicts, texts


async def test_a_claimer_that_reserved_its_fences_earlier_never_takes_a_job_backwards(
    url: str, jobs: MongoJobStore
) -> None:
    await enqueue(jobs, SHARDS[:2])
    await claim(jobs)
    async with open_database(url) as other:
        later = MongoJobStore(other)
        [theirs] = await claim(later, owner="them")
        await later.release(theirs, counted={})
    [ours] = await claim(jobs)
    assert ours.job_id == theirs.job_id
    assert ours.fence > theirs.fence
    with pytest.raises(LeaseLost):
        await jobs.checkpoint(theirs, cursor=None, counted={})


async def test_those_who_schedule_the_same_at_once_agree(url: str, jobs: MongoJobStore) -> None:
    async with open_database(url) as one, open_database(url) as two:
        stores = [jobs, MongoJobStore(one), MongoJobStore(two)]
        added = await asyncio.gather(*(enqueue(store, SHARDS, f"group {at}") for at, store in enumerate(stores)))
    assert sum(added) == len(SHARDS)
    assert [(await jobs.tally(f"group {at}")).total for at in range(3)] == [len(SHARDS)] * 3


async def test_claimers_in_a_crowd_still_respect_priorities(url: str, jobs: MongoJobStore) -> None:
    await jobs.enqueue([NewJob(shard, priority=at % 2) for at, shard in enumerate(SHARDS)])
    urgent = set(SHARDS[1::2])
    jobs._claims._crowded = True
    assert {lease.shard for lease in await claim(jobs, 20)} < urgent


async def test_more_jobs_than_fit_in_one_transaction_keep_their_order(jobs: MongoJobStore) -> None:
    shards = [f"ocm/country:NL/ids:{number}..{number}" for number in range(2500)]
    assert await enqueue(jobs, [*shards, *shards]) == len(shards)
    assert [job.shard for job in await jobs.list(limit=3000)] == shards


async def test_texts_that_look_like_expressions_are_kept_as_they_are(jobs: MongoJobStore) -> None:
    await enqueue(jobs, ["$shard"], "$group")
    await enqueue(jobs, ["$shard"], "$$NOW")
    [lease] = await claim(jobs, owner="$status")
    await jobs.checkpoint(lease, cursor="$fence", counted={"pages": 1})
    job = await jobs.get("$shard")
    assert job
    assert (job.lease_owner, job.cursor) == ("$status", "$fence")
    await jobs.fail(lease, Failure("$code", "$$NOW"), retry_in=None, counted={})
    job = await jobs.get("$shard")
    assert job
    assert (job.last_error_code, job.last_error_message) == ("$code", "$$NOW")
    for group in ("$group", "$$NOW"):
        assert (await jobs.tally(group)).counters == {"pages": 1}


async def test_a_counter_cannot_reach_into_other_fields(jobs: MongoJobStore) -> None:
    await enqueue(jobs, SHARDS[:1])
    [lease] = await claim(jobs)
    with pytest.raises(ValueError, match="counter"):
        await jobs.release(lease, counted={"pages.x": 1})


async def test_another_thread_opens_its_own_connection(url: str, jobs: MongoJobStore) -> None:
    await enqueue(jobs, SHARDS[:1])
    leases = await claim(jobs)

    async def renew() -> Renewed:
        async with open_database(url) as database:
            return await MongoJobStore(database).renew(leases, lease=30)

    assert await asyncio.to_thread(lambda: asyncio.run(renew())) == Renewed({leases[0].job_id})


async def test_a_renewal_does_not_wait_for_a_job_that_a_transaction_has(
    jobs: MongoJobStore, database: MongoDatabase
) -> None:
    await enqueue(jobs, SHARDS[:2])
    locked, free = await claim(jobs, 2)
    async with database.client.start_session() as session, await session.start_transaction():
        await database.jobs.update_one({"_id": locked.job_id}, {"$set": {"cursor": "moved"}}, session=session)
        assert await jobs.renew([locked, free], lease=3) == Renewed({free.job_id}, {locked.job_id})
    assert await jobs.renew([locked, free], lease=3) == Renewed({locked.job_id, free.job_id})


# Waiting


async def woken_by(jobs: MongoJobStore, change: Any) -> None:
    # The first wait ends as soon as the change stream is open, because something may have come before.
    await asyncio.wait_for(jobs.wait(60), timeout=20)
    waiting = asyncio.create_task(jobs.wait(60))
    await asyncio.sleep(0)
    await change
    await asyncio.wait_for(waiting, timeout=20)


async def test_a_new_job_wakes_whoever_waits(jobs: MongoJobStore) -> None:
    await woken_by(jobs, enqueue(jobs, SHARDS[:1]))


async def test_a_job_that_is_given_back_wakes_whoever_waits(jobs: MongoJobStore) -> None:
    await enqueue(jobs, SHARDS[:1])
    [lease] = await claim(jobs)
    await woken_by(jobs, jobs.release(lease, counted={}))


async def test_a_job_that_is_done_wakes_nobody(jobs: MongoJobStore) -> None:
    await enqueue(jobs, SHARDS[:1])
    leases = await claim(jobs)
    await asyncio.wait_for(jobs.wait(60), timeout=20)
    waiting = asyncio.create_task(jobs.wait(60))
    await jobs.complete([Done(lease) for lease in leases])
    done, _ = await asyncio.wait({waiting}, timeout=0.3)
    assert not done
    waiting.cancel()


async def test_without_a_change_stream_a_waiter_polls_and_one_warning_says_so() -> None:
    class Deaf:
        async def watch(self, *_: object, **__: object) -> None:
            raise OperationFailure("change streams are not for you", 40573)

    arrivals = JobArrivals(Deaf())  # type: ignore[arg-type]  # all that it uses of a collection
    with capture_logs() as logs:
        for _ in range(3):
            await asyncio.wait_for(arrivals.wait(60), timeout=20)
    await arrivals.close()
    assert [entry["log_level"] for entry in logs] == ["warning"]
