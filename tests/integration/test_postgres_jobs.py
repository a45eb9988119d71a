"""What only PostgreSQL's job store promises: its plans, its renewals, its migrations, its wake-ups and its errors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from support.job_store_postgres import clean_database, run, until
from support.postgres_plans import indexes_in, plan_of, tables_read_whole
from waypost.adapters.errors import StoreAway, StoreBusy, StoreRefused, StoreTooNew, StoreTooOld
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.postgres.errors import translated
from waypost.adapters.postgres.jobs import CLAIM, CLAIM_IN_GROUP, SQL, PostgresJobStore, add_parts
from waypost.kernel.errors import StoreTrouble
from waypost.scaling.jobs.job import Done, Failure, Lease, NewJob, Renewed

pytestmark = pytest.mark.anyio

MANY = [f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(100)]
BLOCKED = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with clean_database() as made:
        yield made


@pytest.fixture
async def empty_url() -> AsyncIterator[str]:
    async with clean_database(migrated=False) as made:
        yield made


@asynccontextmanager
async def opened(url: str, *, migrating: bool = False) -> AsyncIterator[PostgresDatabase]:
    database = await PostgresDatabase.open(url, migrating=migrating, pool_size=1)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
async def database(url: str) -> AsyncIterator[PostgresDatabase]:
    async with opened(url) as connected:
        yield connected


@pytest.fixture
def jobs(database: PostgresDatabase) -> PostgresJobStore:
    return PostgresJobStore(database)


@pytest.fixture
async def admin(url: str) -> AsyncIterator[Any]:
    """A connection beside the store's."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


async def enqueue(jobs: PostgresJobStore, shards: list[str], delay: float = 0) -> int:
    return await jobs.enqueue([NewJob(shard, delay=delay) for shard in shards])


async def claim(jobs: PostgresJobStore, limit: int) -> list[Lease]:
    return list(await jobs.claim("me", limit=limit, lease=30, max_vanished=5))


@pytest.mark.parametrize("group", [None, "two"])
async def test_a_cancelled_job_that_is_pruned_while_it_is_wanted_again_is_added_anew(
    jobs: PostgresJobStore, admin: Any, group: str | None
) -> None:
    await jobs.enqueue([NewJob(MANY[0])], group="one")
    await jobs.cancel("one")
    async with admin.transaction():
        await admin.execute("select from jobs for update")
        waiting = asyncio.create_task(jobs.enqueue([NewJob(MANY[0])], group=group))
        await until(admin, BLOCKED)
        await admin.execute("delete from jobs")
    assert await waiting == 1
    [job] = await jobs.list()
    assert (job.shard, job.status) == (MANY[0], "pending")


# Plans


async def fill(admin: Any, *, done: int, pending: int, leased: int = 50) -> None:
    """Some that are done, some that wait, and a few that are leased, of which some have expired; all in one group."""
    await admin.execute(
        """
        insert into jobs (id, shard, status, not_before, created_at, finished_at, lease_until, fence)
        select gen_random_uuid(), 'ocm/ids:' || number, status, now(), now(),
          case status when 'done' then now() end,
          case status when 'leased' then now() + (number % 2 - 0.5) * interval '1 minute' end, number
        from (
          select number,
            case when number <= $1::int then 'done' when number <= $1::int + $2::int then 'pending' else 'leased' end
          from generate_series(1, $1::int + $2::int + $3::int) as number
        ) as made (number, status)
        """,
        done,
        pending,
        leased,
    )
    await admin.execute("insert into job_groups select 'one', id, '{}' from jobs")
    await admin.execute("analyze jobs, job_groups")


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(("done", "pending"), [(20_000, 200), (200, 20_000)])
async def test_a_claim_reads_the_partial_indexes_and_never_the_whole_table(
    admin: Any, mode: str, done: int, pending: int
) -> None:
    await fill(admin, done=done, pending=pending)
    await admin.execute(f"set plan_cache_mode = {mode}")
    only_expired = False
    plan = await plan_of(admin, CLAIM, "me", 10, 30.0, 5, None, only_expired)
    assert indexes_in(plan) >= {"jobs_pending", "jobs_leased", "jobs_pkey"}
    assert tables_read_whole(plan) == []


async def test_a_claim_for_a_large_group_does_not_read_all_of_it(admin: Any) -> None:
    await fill(admin, done=200, pending=20_000)
    only_expired = False
    plan = await plan_of(admin, CLAIM_IN_GROUP, "me", 10, 30.0, 5, "one", only_expired)
    assert indexes_in(plan) >= {"jobs_pending", "jobs_leased", "jobs_pkey"}
    assert tables_read_whole(plan) == []


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("leased_at_last_analysis", [0, 50, 5_000])
async def test_renewing_and_completing_look_jobs_up_by_id(admin: Any, mode: str, leased_at_last_analysis: int) -> None:
    await fill(admin, done=20_000, pending=200, leased=leased_at_last_analysis)
    await admin.execute(f"set plan_cache_mode = {mode}")
    ids, fences = [str(UUID(int=number)) for number in range(1000)], list(range(1000))
    for statement, arguments in {"renew": (ids, fences, 30.0), "complete": (ids, fences, [])}.items():
        plan = await plan_of(admin, SQL[statement], *arguments)
        assert indexes_in(plan) == {"jobs_pkey"}
        assert all("(id = " in node["Index Cond"] for node in plan if "Index Name" in node)
        assert tables_read_whole(plan) == []


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize(("done", "pending"), [(20_000, 200), (200, 20_000)])
async def test_cancelling_walks_the_group_and_looks_jobs_up_by_id(
    admin: Any, mode: str, done: int, pending: int
) -> None:
    await fill(admin, done=done, pending=pending)
    await admin.execute(f"set plan_cache_mode = {mode}")
    ids = [UUID(int=number) for number in range(1000)]
    statements: dict[str, tuple[tuple[object, ...], set[str]]] = {
        "hold_waited_for": (("one", UUID(int=0), 1000), {"job_groups_pkey", "jobs_pkey"}),
        "first_waited_for": (("one",), {"job_groups_pkey", "jobs_pkey"}),
        "await": (("one", ids[0]), {"job_groups_pkey", "job_groups_by_job", "jobs_pkey"}),
        "leave": (("one", ids), {"job_groups_pkey"}),
        "cancel": ((ids,), {"jobs_pkey", "job_groups_by_job"}),
    }
    for statement, (arguments, indexes) in statements.items():
        plan = await plan_of(admin, SQL[statement], *arguments)
        assert indexes_in(plan) <= indexes, statement
        assert tables_read_whole(plan) == [], statement


async def test_no_index_knows_the_end_of_a_lease(admin: Any) -> None:
    definitions = await admin.fetch("select indexdef from pg_indexes where tablename = 'jobs'")
    assert not [row["indexdef"] for row in definitions if "lease_until" in row["indexdef"]]


async def test_renewals_stay_on_their_page_and_leave_the_indexes_alone(
    jobs: PostgresJobStore, database: PostgresDatabase, admin: Any
) -> None:
    for batch in range(10):
        await enqueue(jobs, [f"{shard}/batch:{batch}" for shard in MANY])
    leases = await claim(jobs, 500)
    before = await updates(database, admin)
    for _ in range(40):
        assert len((await jobs.renew(leases, lease=30)).kept) == 500
        await everybody_moves_on(admin)
    after = await updates(database, admin)
    everything, in_place = (then - earlier for then, earlier in zip(after, before, strict=True))
    assert everything == 40 * 500
    assert in_place / everything >= 0.8


async def everybody_moves_on(admin: Any) -> None:
    """Until transactions of other tests that need the rows as they were have ended: renewals are seconds apart."""
    now = await admin.fetchval("select pg_snapshot_xmax(pg_current_snapshot())::text")
    await until(admin, "select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8", now)


async def updates(database: PostgresDatabase, admin: Any) -> tuple[int, int]:
    """How many rows of jobs were updated, and how many of them without touching an index."""
    await database.fetch("select pg_stat_force_next_flush()")
    row = await admin.fetchrow("select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'jobs'")
    return row["n_tup_upd"], row["n_tup_hot_upd"]


# Statements


@asynccontextmanager
async def statements(database: PostgresDatabase) -> AsyncIterator[list[str]]:
    """What is sent to the server in here."""
    sent: list[str] = []

    def note(query: Any) -> None:
        sent.append(query.query)

    async with database._pool.acquire() as connection:
        connection.add_query_logger(note)
    yield sent
    async with database._pool.acquire() as connection:
        connection.remove_query_logger(note)
    # The driver calls loggers soon, not at once.
    await asyncio.sleep(0)


async def test_a_hundred_jobs_are_enqueued_claimed_renewed_and_completed_with_a_statement_each(
    jobs: PostgresJobStore, database: PostgresDatabase
) -> None:
    async def go_through(shards: list[str]) -> None:
        await enqueue(jobs, shards)
        leases = await claim(jobs, 100)
        assert len((await jobs.renew(leases, lease=30)).kept) == 100
        assert len(await jobs.complete([Done(lease, {"pages": 1}) for lease in leases])) == 100

    await go_through([f"{shard}/first:1" for shard in MANY])  # the driver asks about types once a connection
    async with statements(database) as sent:
        await go_through(MANY)
    assert sent == [SQL["add"], CLAIM, SQL["renew"], SQL["complete"]]


async def test_what_was_counted_on_many_is_added_up_for_each(jobs: PostgresJobStore) -> None:
    await enqueue(jobs, MANY)
    for lease in await claim(jobs, 100):
        await jobs.release(lease, counted={"pages": 1, "retries": 0})
    leases = await claim(jobs, 100)
    await jobs.complete([Done(lease, {"pages": number, "places": 7}) for number, lease in enumerate(leases)])
    found = [(job.counters["pages"], job.counters["places"]) for job in await jobs.list(limit=100)]
    assert sorted(found) == [(number + 1, 7) for number in range(100)]


async def test_a_claim_comes_to_the_expired_when_there_is_room_after_the_due(
    jobs: PostgresJobStore, admin: Any
) -> None:
    await enqueue(jobs, MANY[:5])
    await claim(jobs, 2)
    await expire(admin)
    assert [lease.attempts for lease in await claim(jobs, 2)] == [1, 1]
    assert [lease.attempts for lease in await claim(jobs, 5)] == [2, 2, 1]


async def test_behind_a_backlog_the_expired_do_not_wait_for_ever(jobs: PostgresJobStore, admin: Any) -> None:
    await enqueue(jobs, MANY)
    await claim(jobs, 2)
    await expire(admin)
    assert jobs._full_since
    jobs._full_since -= 2
    assert [lease.attempts for lease in await claim(jobs, 3)] == [2, 2, 1]
    assert [lease.attempts for lease in await claim(jobs, 3)] == [1, 1, 1]


async def test_a_claim_that_fails_half_way_returns_what_it_has_leased(
    jobs: PostgresJobStore, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue(jobs, MANY)
    await claim(jobs, 2)
    await expire(admin)
    jobs._full_since = -10.0
    fetch, calls = jobs._database.fetch, 0

    async def fetch_once(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise StoreAway("the connection was reset")
        return await fetch(*given, **named)

    monkeypatch.setattr(jobs._database, "fetch", fetch_once)
    assert [lease.attempts for lease in await claim(jobs, 3)] == [2, 2]
    with pytest.raises(StoreAway):
        await claim(jobs, 3)


async def expire(admin: Any) -> None:
    await admin.execute("update jobs set lease_until = now() - interval '1 second' where status = 'leased'")


# Many at once


async def test_eight_that_migrate_at_once_do_it_once(empty_url: str) -> None:
    databases = await asyncio.gather(*(PostgresDatabase.open(empty_url, migrating=True) for _ in range(8)))
    [row] = await databases[0].fetch("select count(*) as jobs from jobs")
    assert row["jobs"] == 0
    await asyncio.gather(*(database.close() for database in databases))


async def test_two_that_enqueue_the_same_shards_in_opposite_order_do_not_block_each_other(
    jobs: PostgresJobStore, url: str
) -> None:
    async with opened(url) as other:
        for batch in range(10):
            shards = [f"{shard}/batch:{batch}" for shard in MANY]
            added = await asyncio.gather(enqueue(jobs, shards), enqueue(PostgresJobStore(other), shards[::-1]))
            assert sum(added) == 100


async def test_a_shard_that_is_named_twice_in_one_call_is_one_job(jobs: PostgresJobStore) -> None:
    assert await jobs.enqueue([NewJob(MANY[0], priority=7), NewJob(MANY[0])], group="one") == 1
    [job] = await jobs.list(group="one")
    assert job.priority == 7


async def test_a_renewal_passes_over_a_locked_job(jobs: PostgresJobStore, admin: Any) -> None:
    """So it cannot deadlock with a batch of acknowledgements that has the one and waits for the other."""
    await enqueue(jobs, MANY[:2])
    locked, free = await claim(jobs, 2)
    async with admin.transaction():
        await admin.execute("update jobs set cursor = 'moved' where id = $1", locked.job_id)
        assert await jobs.renew([locked, free], lease=3600) == Renewed({free.job_id}, {locked.job_id})
    assert await jobs.renew([locked, free], lease=3600) == Renewed({locked.job_id, free.job_id})


async def wanted(jobs: PostgresJobStore, shards: list[str], group: str) -> int:
    return await jobs.enqueue([NewJob(shard) for shard in shards], group=group)


async def test_who_begins_to_want_a_job_while_it_is_cancelled_makes_it_pending_again(
    jobs: PostgresJobStore, admin: Any
) -> None:
    await wanted(jobs, MANY[:2], "one")
    async with admin.transaction():
        held = [row["id"] for row in await admin.fetch(SQL["hold_waited_for"], "one", UUID(int=0), 10)]
        await admin.execute(SQL["leave"], "one", held)
        assert await admin.fetchval(SQL["cancel"], held) == 2
        enqueueing = asyncio.create_task(wanted(jobs, MANY[:3], "two"))
        await until(admin, BLOCKED)
    assert await enqueueing == 3
    assert await jobs.count() == {"pending": 3}


async def test_a_job_that_somebody_just_begins_to_want_again_is_not_cancelled(
    jobs: PostgresJobStore, admin: Any
) -> None:
    """Also by a group that is a member already, whose reference to the job locks nothing."""
    await wanted(jobs, MANY[:2], "one")
    await wanted(jobs, MANY[:2], "two")
    await jobs.cancel("two")
    async with admin.transaction():
        await admin.execute(SQL["join_group"], "two", MANY[:1])
        cancelling = asyncio.create_task(jobs.cancel("one"))
        await until(admin, BLOCKED)
        assert not cancelling.done()
    assert await cancelling == 1
    assert await jobs.count() == {"pending": 1, "cancelled": 1}


async def test_cancelling_passes_over_a_locked_job_and_waits_for_it_alone(jobs: PostgresJobStore, admin: Any) -> None:
    """So it cannot deadlock with a batch of acknowledgements that has the one and waits for the other."""
    await wanted(jobs, MANY, "one")
    [locked, *_] = await claim(jobs, 5)
    async with admin.transaction():
        await admin.execute("update jobs set status = 'done' where id = $1", locked.job_id)
        cancelling = asyncio.create_task(jobs.cancel("one"))
        await until(admin, "select count(*) = 99 from jobs where status = 'cancelled'")
        assert not cancelling.done()
    assert await cancelling == 99


async def test_the_parts_of_a_job_that_is_cut_while_its_group_cancels_are_cancelled_too(
    jobs: PostgresJobStore, admin: Any
) -> None:
    await wanted(jobs, MANY[:1], "one")
    [lease] = await claim(jobs, 1)
    async with admin.transaction():
        await admin.execute(SQL["complete"], [lease.job_id], [lease.fence], [])
        cancelling = asyncio.create_task(jobs.cancel("one"))
        await until(admin, BLOCKED)
        await add_parts(admin, lease, MANY[1:3])
    assert await cancelling == 2
    assert await jobs.count() == {"done": 1, "cancelled": 2}


async def test_thousands_are_cancelled_a_thousand_at_a_time(jobs: PostgresJobStore, admin: Any) -> None:
    await fill(admin, done=500, pending=2500)
    assert await jobs.cancel("one") == 2550
    assert await jobs.count() == {"done": 500, "cancelled": 2550}
    assert (await jobs.tally("one")).jobs == {"done": 500, "cancelled": 2550}


async def test_two_that_want_cancelled_jobs_again_in_opposite_order_do_not_block_each_other(
    jobs: PostgresJobStore, url: str
) -> None:
    async with opened(url) as other:
        for _ in range(10):
            await wanted(jobs, MANY, "one")
            await jobs.cancel("one")
            again = await asyncio.gather(wanted(jobs, MANY, "one"), wanted(PostgresJobStore(other), MANY[::-1], "two"))
            assert sum(again) == 100
            await jobs.cancel("two")


async def test_a_store_can_be_opened_in_the_loop_of_another_thread(jobs: PostgresJobStore, url: str) -> None:
    await enqueue(jobs, MANY[:1])
    [lease] = await claim(jobs, 1)

    async def renew() -> Renewed:
        async with opened(url) as own:
            return await PostgresJobStore(own).renew([lease], lease=30)

    assert await asyncio.to_thread(lambda: asyncio.run(renew())) == Renewed({lease.job_id})


# Schemas


async def test_a_role_refuses_an_old_schema_and_names_the_command(empty_url: str) -> None:
    with pytest.raises(StoreTooOld, match="waypost db migrate"):
        await PostgresDatabase.open(empty_url, migrating=False)


async def test_a_schema_that_needs_newer_code_is_refused_by_everybody(url: str) -> None:
    await run(url, "insert into migrations (version, name, oldest_code, digest) values (999, 'contract', 999, '')")
    for migrating in (True, False):
        with pytest.raises(StoreTooNew, match="newer Waypost"):
            await PostgresDatabase.open(url, migrating=migrating)


async def test_the_previous_release_runs_on_a_schema_that_only_grew(url: str) -> None:
    await run(url, "insert into migrations (version, name, oldest_code, digest) values (999, 'expand', 1, '')")
    await run(url, "alter table jobs add column colour text")
    async with opened(url) as database:
        await enqueue(PostgresJobStore(database), MANY[:1])
        assert await PostgresJobStore(database).get(MANY[0])


# Wake-ups


async def releasing(jobs: PostgresJobStore, lease: Lease) -> None:
    await jobs.release(lease, counted={})


async def failing_for_now(jobs: PostgresJobStore, lease: Lease) -> None:
    await jobs.fail(lease, Failure("away", "it is away"), retry_in=0, counted={})


async def splitting(jobs: PostgresJobStore, lease: Lease) -> None:
    await jobs.split(lease, [f"{lease.shard}/part:1"], counted={})


async def releasing_the_owner(jobs: PostgresJobStore, _lease: Lease) -> None:
    await jobs.release_owner("me", max_vanished=5)


async def failing_and_reviving(jobs: PostgresJobStore, lease: Lease) -> None:
    await jobs.fail(lease, Failure("gone", "it is gone"), retry_in=None, counted={})
    await jobs.revive()


@pytest.mark.parametrize("change", [releasing, failing_for_now, splitting, releasing_the_owner, failing_and_reviving])
async def test_whatever_makes_a_job_claimable_wakes_those_who_wait(
    jobs: PostgresJobStore, url: str, change: Callable[[PostgresJobStore, Lease], Awaitable[None]]
) -> None:
    await enqueue(jobs, MANY[:1])
    [lease] = await claim(jobs, 1)
    async with opened(url) as other, asyncio.timeout(20):
        waiter = PostgresJobStore(other)
        await waiter.wait(60)  # the first one returns as soon as it listens, because it may have missed something
        waiting = asyncio.create_task(waiter.wait(60))
        await change(jobs, lease)
        await waiting


async def test_a_notification_between_claim_and_wait_is_not_lost(jobs: PostgresJobStore, url: str) -> None:
    async with opened(url) as other, asyncio.timeout(20):
        waiter = PostgresJobStore(other)
        await waiter.wait(60)
        assert await claim(waiter, 1) == []
        await enqueue(jobs, MANY[:1])
        await waiter.wait(60)
        assert await claim(waiter, 1)


async def test_a_hundred_new_jobs_are_one_notification_and_those_for_later_are_none(
    jobs: PostgresJobStore, admin: Any
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    await admin.add_listener("waypost_jobs", lambda *told: heard.put_nowait(told[-1]))
    await admin.add_listener("the_end", lambda *_told: heard.put_nowait("the end"))
    await enqueue(jobs, MANY)
    await enqueue(jobs, MANY)
    await enqueue(jobs, ["ocm/country:DE/later:1"], delay=60)
    await admin.execute("notify the_end")
    assert [await heard.get(), await heard.get()] == ["", "the end"]
    await admin.reset()


async def test_a_broken_connection_for_notifications_is_opened_anew(jobs: PostgresJobStore, admin: Any) -> None:
    listening = "select pid from pg_stat_activity where query ilike 'listen%' and pid <> pg_backend_pid()"
    async with asyncio.timeout(20):
        await jobs.wait(60)
        old = await admin.fetchval(listening)
        await admin.execute("select pg_terminate_backend($1)", old)
        await until(admin, f"{listening} and pid <> $1", old)
        waiting = asyncio.create_task(jobs.wait(60))
        await enqueue(jobs, MANY[:1])
        await waiting


async def test_behind_a_pooler_that_shares_connections_it_polls(url: str) -> None:
    async with opened(f"{url}?statement_cache_size=0") as database:
        jobs = PostgresJobStore(database)
        assert not jobs.capabilities.notifies
        await enqueue(jobs, MANY[:1])
        assert len(await claim(jobs, 2)) == 1
        await jobs.wait(0.01)


# Errors


async def test_a_connection_that_breaks_in_the_middle_is_trouble_and_the_next_call_works(
    jobs: PostgresJobStore, admin: Any
) -> None:
    await enqueue(jobs, MANY[:1])
    [lease] = await claim(jobs, 1)
    async with admin.transaction():
        await admin.execute("update jobs set cursor = 'moved' where id = $1", lease.job_id)
        completing = asyncio.create_task(jobs.complete([Done(lease)]))
        await until(admin, BLOCKED)
        await admin.execute(f"select pg_terminate_backend(({BLOCKED}))")
        with pytest.raises(StoreAway):
            await completing
    assert await jobs.complete([Done(lease)]) == {lease.job_id}


async def test_a_transaction_that_breaks_in_the_middle_changes_nothing(jobs: PostgresJobStore, admin: Any) -> None:
    await enqueue(jobs, MANY[:1])
    async with admin.transaction():
        await admin.execute("lock table job_groups")
        enqueueing = asyncio.create_task(jobs.enqueue([NewJob(shard) for shard in MANY], group="one"))
        await until(admin, BLOCKED)
        await admin.execute(f"select pg_terminate_backend(({BLOCKED}))")
        with pytest.raises(StoreTrouble):
            await enqueueing
    assert len(await jobs.list()) == 1


async def test_a_server_that_is_away_is_trouble_and_the_password_stays_with_us() -> None:
    with pytest.raises(StoreAway, match=r"127\.0\.0\.1:1/none") as caught:
        await PostgresDatabase.open("postgresql://app:secret@127.0.0.1:1/none", migrating=False)
    assert "secret" not in f"{caught.value} {caught.value.next_step}"


async def test_a_database_that_is_not_there_is_refused(url: str) -> None:
    with pytest.raises(StoreRefused, match="does not exist"):
        await PostgresDatabase.open(f"{url}_not", migrating=False)


async def test_a_deadlock_is_worth_another_try() -> None:
    with pytest.raises(StoreBusy), translated("here"):
        raise asyncpg.DeadlockDetectedError("deadlock detected")


@pytest.mark.parametrize(
    "said",
    [
        "cannot switch to state 12; another operation (2) is in progress",
        "PoolConnectionHolder.release() called on a free connection holder",
    ],
)
async def test_a_server_that_said_goodbye_between_two_statements_is_away(said: str) -> None:
    with pytest.raises(StoreAway), translated("here"):
        raise asyncpg.InternalClientError(said)


async def test_a_message_with_a_character_that_postgresql_cannot_hold_is_kept_without_it(
    jobs: PostgresJobStore,
) -> None:
    await enqueue(jobs, MANY[:1])
    [lease] = await claim(jobs, 1)
    await jobs.fail(lease, Failure("broken", "what\0ever"), retry_in=None, counted={})
    [job] = await jobs.list(status="dead")
    assert job.last_error_message == "what\N{REPLACEMENT CHARACTER}ever"
