"""What only PostgreSQL's stores of places and links promise: their plans, their locks, and that little is written."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from support.job_store_postgres import until
from support.places import fetched, page, writing
from support.postgres_plans import indexes_in, plan_of, tables_read_whole
from support.stores import Backend, open_backend
from waypost.adapters.errors import StoreAway
from waypost.adapters.postgres import facts, jobs, links, outbox, page_writing, places, visits
from waypost.adapters.postgres.database import PostgresDatabase
from waypost.importing.cuts import IdRange
from waypost.importing.passes import ENDING
from waypost.importing.source import Page, Reject
from waypost.scaling.jobs.job import Lease, NewJob

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)
ID = UUID(int=1)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend("postgres", tmp_path) as opened:
        yield opened


@pytest.fixture
async def admin(backend: Backend) -> AsyncIterator[Any]:
    """A connection beside the store's."""
    connection = await asyncpg.connect(backend.settings.storage.store_url)
    yield connection
    await connection.close()


async def leases(backend: Backend, count: int) -> list[Lease]:
    await backend.stores.jobs.enqueue([NewJob(f"ocm/ids:{number}..{number + 1}") for number in range(count)])
    return list(await backend.stores.jobs.claim("me", limit=count, lease=30, max_vanished=5))


async def commit(backend: Backend, lease: Lease, brought: Page, *, at: datetime = NOON) -> dict[str, int]:
    committed = await backend.stores.pages.commit(lease, brought, writing(requested_at=at, counted={"requests": 1}))
    return {name: number for name, number in committed.changes.items() if number}


# Plans


async def fill(admin: Any) -> None:
    await admin.execute(
        """
        insert into places
          (external_id, id, place, record, content_hash, requested_at, changed_at, source, area, number)
        select 'ocm:' || number, gen_random_uuid(), '{}', '', '', now(), now(), 'ocm', 'country:' || number % 20, number
        from generate_series(1, 20000) as number
        """
    )
    await admin.execute(
        """
        insert into links (id, phrase, folded, looks, target, format, created_at, updated_at)
        select number, number, number, number, 'https://example.org', 'kebab', now(), now()
        from generate_series(1, 5000) as number
        """
    )
    await admin.execute(
        "insert into visits select number, number % 100, now() from generate_series(1, 20000) as number"
    )
    await admin.execute("insert into shards select number, number from generate_series(1, 5000) as number")
    await admin.execute("insert into facts select number, number from generate_series(1, 5000) as number")
    await admin.execute(
        """
        insert into jobs (id, shard, status, not_before, created_at, fence)
        select gen_random_uuid(), number, case when number % 2 = 0 then 'done' else 'leased' end, now(), now(), number
        from generate_series(1, 5000) as number
        """
    )
    await admin.execute("insert into visit_totals (link_id) select number from generate_series(1, 5000) as number")
    await admin.execute("analyze places, links, visits, visit_totals, shards, facts, jobs")


def a_page(count: int) -> tuple[object, ...]:
    """The arguments of the statement that writes a page."""
    ids = [UUID(int=number) for number in range(count)]
    names = [f"ocm:{number}" for number in range(count)]
    columns = (names, ids, ["{}"] * count, [b""] * count, [b"new"] * count, list(range(count)))
    return (*columns, NOON, "ocm", "country:DE")


LOOK_UPS = {
    "the job, at the start": (page_writing.SQL["hold_job"], (ID, 1, "after:1", None), "id"),
    "the job, in the end": (jobs.SQL["checkpoint"], (ID, 1, "after:1", '{"added": 1}'), "id"),
    "the shard": (page_writing.SQL["move_shard"], ("7", "after:1", False, None), "shard"),
    "what is not gone": (page_writing.SQL["strike"], (["ocm:1"], NOON), "external_id"),
    "the pass": (page_writing.SQL["pass"], ("7",), "shard"),
    "what it has seen": (page_writing.SQL["marked"], (ID, ["ocm:1"]), "external_id"),
    "what it clears": (page_writing.SQL["clear"], (ID, "ocm:1", "ocm:2"), "pass"),
    "what is struck off": (page_writing.SQL["forget_candidates"], ("s", "ocm:1", "ocm:2"), "shard"),
    "other shards": (page_writing.SQL["others"], ("ocm/refresh:one", "s"), "import"),
    "the relayed": (outbox.SQL["forget"], ([ID],), "id"),
    "a place": (places.SQL["get"], (ID,), "id"),
    "the next places": (places.SQL["after"], ("ocm:1", 1000), "external_id"),
    "a link": (links.SQL["find"], (["7"],), "folded"),
    "its visits": (visits.SQL["count"], (["7"],), "link_id"),
    "a fact": (facts.SQL["get"], ("7",), "name"),
}
each_kind_of_plan = pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])


@each_kind_of_plan
async def test_every_look_up_goes_by_an_index_and_never_reads_a_whole_table(admin: Any, mode: str) -> None:
    await fill(admin)
    await admin.execute(f"set plan_cache_mode = {mode}")
    for what, (statement, arguments, column) in LOOK_UPS.items():
        plan = await plan_of(admin, statement, *arguments)
        assert tables_read_whole(plan) == [], what
        assert all(f"({column} " in step["Index Cond"] for step in plan if "Index Name" in step), what
        assert not [step for step in plan if step["Node Type"] == "Sort"], what
    assert indexes_in(await plan_of(admin, page_writing.SQL["highest_fence"])) == {"shards_by_fence"}


@each_kind_of_plan
@pytest.mark.parametrize("analysed", ["while it was empty", "since"])
async def test_a_page_looks_up_its_own_places_and_no_others(
    backend: Backend, admin: Any, mode: str, analysed: str
) -> None:
    if analysed == "since":
        await fill(admin)
    for count in (1, 100, 5000):
        # As the store itself asks: its connections have settings of their own.
        database = await PostgresDatabase.open(backend.settings.storage.store_url, migrating=False, pool_size=1)
        async with database.transaction() as tx:
            await tx.execute(f"set local plan_cache_mode = {mode}")
            plan = await plan_of(tx, page_writing.SQL["write"], *a_page(count))
        await database.close()
        assert indexes_in(plan) == {"places_pkey"}
        assert all("(external_id = " in step["Index Cond"] for step in plan if "Index Name" in step)
        assert tables_read_whole(plan) == []


@pytest.mark.parametrize("analysed", ["while it was empty", "since"])
async def test_what_is_gone_is_looked_for_in_the_pages_own_numbers(backend: Backend, admin: Any, analysed: str) -> None:
    if analysed == "since":
        await fill(admin)
    page_of_ids = [f"ocm:{number}" for number in range(1000)]
    database = await PostgresDatabase.open(backend.settings.storage.store_url, migrating=False, pool_size=1)
    async with database.transaction() as tx:
        some = ("s", NOON, "ocm", "country:7", 1, "", 1000, 5000)
        gather = await plan_of(tx, page_writing.SQL["gather"], *some, page_of_ids)
        sweep = await plan_of(tx, page_writing.SQL["sweep"], *some, ID)
        going = await plan_of(tx, page_writing.SQL["next_candidates"], "s", "ocm", "country:7", "", 1000)
        remove = await plan_of(tx, page_writing.SQL["remove"], "s", "ocm", "country:7", "", "ocm:7")
        touch = await plan_of(tx, page_writing.SQL["touch"], page_of_ids, NOON)
        contended = await plan_of(tx, page_writing.SQL["contended"], "ocm/country:DE/", "/full:2026-02-21")
    await database.close()
    assert indexes_in(gather) == {"places_by_area", "places_pkey"}
    assert indexes_in(sweep) == {"places_by_area", "places_pkey", "marks_pkey"}
    assert indexes_in(going) == indexes_in(remove) == {"candidates_pkey", "places_pkey"}
    assert indexes_in(touch) == {"places_pkey"}
    assert all("(external_id = " in step["Index Cond"] for step in touch if "Index Name" in step)
    assert indexes_in(contended) == {"jobs_leased"}
    assert tables_read_whole(gather + sweep + going + remove + touch + contended) == []


# What is written


async def rows(admin: Any) -> list[Any]:
    """Where each place's row is, and who wrote and locked it last."""
    found: list[Any] = await admin.fetch("select external_id, ctid, xmin, xmax from places order by external_id")
    return found


async def test_what_is_unchanged_is_neither_written_nor_locked(backend: Backend, admin: Any) -> None:
    [lease] = await leases(backend, 1)
    await commit(backend, lease, page(*range(50)))
    before = await rows(admin)
    assert await commit(backend, lease, page(*range(50)), at=NOON + timedelta(hours=1)) == {"unchanged": 50}
    assert await commit(backend, lease, page(*range(50), name="old"), at=NOON - timedelta(hours=1)) == {"unchanged": 50}
    assert await rows(admin) == before


async def test_of_a_page_only_what_is_new_or_changed_is_written(backend: Backend, admin: Any) -> None:
    [lease] = await leases(backend, 1)
    await commit(backend, lease, page(*range(50)))
    before = {row["external_id"]: row for row in await rows(admin)}
    mixed = Page((*page(*range(1, 50)).fetched, fetched(0, name="new"), fetched(99)), (), "after:99", last=False)
    assert await commit(backend, lease, mixed) == {"added": 1, "changed": 1, "unchanged": 49}
    after = {row["external_id"]: row for row in await rows(admin)}
    assert {name for name, row in after.items() if before.get(name) != row} == {"ocm:0", "ocm:99"}


async def test_a_rejected_record_is_kept_once_whatever_characters_its_reason_has(backend: Backend, admin: Any) -> None:
    [lease] = await leases(backend, 1)
    rejects = (Reject(b"{\0", "odd: \0"), Reject(b"{\0", "odd: \0"), Reject(b"?", "no id"))
    for _ in range(2):
        assert await commit(backend, lease, Page((), rejects, "after:1", last=False)) == {"rejected": 3}
    kept = await admin.fetch("select record, reason from rejects order by reason")
    assert [tuple(row) for row in kept] == [(b"?", "no id"), (b"{\0", "odd: \N{REPLACEMENT CHARACTER}")]


# Locks

# Whoever of this test's database waits for somebody else; other tests are on the same server.
WAITING = "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"


async def test_nobody_claims_a_job_while_its_page_is_committed(backend: Backend, admin: Any) -> None:
    [lease] = await leases(backend, 1)
    await backend.age(31)
    async with admin.transaction():
        # Keeps the commit waiting in the middle, after its first statement.
        await admin.execute("lock table places in exclusive mode")
        committing = asyncio.create_task(commit(backend, lease, page(1, cursor="after:1")))
        await until(admin, WAITING)
        assert await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5) == []
    assert await committing == {"added": 1}
    [next_lease] = await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
    assert next_lease.cursor == "after:1"


async def test_a_worker_that_stops_in_the_middle_of_a_page_does_not_keep_its_job_locked(backend: Backend) -> None:
    [lease] = await leases(backend, 1)
    with pytest.raises(StoreAway):
        await stop_in_the_middle(backend, lease)
    [next_lease] = await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
    assert next_lease.cursor is None


async def stop_in_the_middle(backend: Backend, lease: Lease) -> None:
    database = await PostgresDatabase.open(backend.settings.storage.store_url, migrating=False, pool_size=1)
    try:
        async with database.transaction() as tx:
            await tx.fetch(page_writing.SQL["hold_job"], lease.job_id, lease.fence, "after:1", None)
            assert await tx.fetchval("show idle_in_transaction_session_timeout") == "5s"
            await tx.execute("set local idle_in_transaction_session_timeout = '1ms'")
            await backend.age(31)  # waits for the row, until the server throws us out
    finally:
        await database.close()


async def test_a_last_page_does_not_wait_for_a_worker_that_judges_another_shard(backend: Backend, admin: Any) -> None:
    await backend.stores.jobs.enqueue([NewJob("ocm/country:DE/full:2026-02-21"), NewJob("ocm/country:DE/refresh:one")])
    first, again = await backend.stores.jobs.claim("me", limit=2, lease=30, max_vanished=5)
    await commit(backend, first, page(1, 2, last=True, covers=IdRange()))
    about = writing(requested_at=NOON + timedelta(seconds=1))
    async with admin.transaction():
        # As one that was stopped in the middle of it.
        await admin.execute(page_writing.SQL["lock_removals"], "ocm/refresh:one")
        committing = backend.stores.pages.commit(again, page(1, 3, last=True, covers=IdRange()), about)
        committed = await asyncio.wait_for(committing, 60)
    assert (committed.more, committed.changes["added"], committed.changes["removed"]) == (True, 1, 0)
    ended = await backend.stores.pages.go_on(msgspec.structs.replace(again, cursor=ENDING), about)
    assert (ended.ended, ended.changes["removed"]) == (True, 1)


async def test_pages_with_the_same_places_in_opposite_order_do_not_block_each_other(
    backend: Backend, admin: Any
) -> None:
    one, two = await leases(backend, 2)
    await commit(backend, one, page(*range(10)))
    async with admin.transaction():
        # Both are halfway when they can go on: without an order, each would have what the other needs.
        await admin.execute("update places set record = '' where external_id = 'ocm:5'")
        both = [
            asyncio.create_task(commit(backend, one, page(*range(10), name="new"))),
            asyncio.create_task(commit(backend, two, page(*reversed(range(10)), name="new"))),
        ]
        await until(admin, f"select count(*) = 2 from ({WAITING}) as waiting")
    assert sorted([tuple(changes.items()) for changes in await asyncio.gather(*both)]) == [
        (("changed", 10),),
        (("unchanged", 10),),
    ]


async def test_of_two_pages_at_once_the_later_request_wins_whoever_commits_last(backend: Backend, admin: Any) -> None:
    lease, _ = await leases(backend, 2)
    async with admin.transaction():
        # Somebody else is about to bring the same place, by a later request than ours.
        newer = fetched(1, name="later").place
        await admin.execute(
            "insert into places values ($1, $2, '{}', '', 'newer', $3, now())", newer.external_id, newer.id, NOON
        )
        ours = asyncio.create_task(commit(backend, lease, page(1, name="earlier"), at=NOON - timedelta(seconds=1)))
        await until(admin, WAITING)
    assert await ours == {"unchanged": 1}
    assert await admin.fetchval("select content_hash from places") == b"newer"


async def test_a_page_whose_connection_breaks_in_the_middle_leaves_nothing(backend: Backend, admin: Any) -> None:
    [lease] = await leases(backend, 1)
    async with admin.transaction():
        await admin.execute("lock table places in exclusive mode")
        committing = asyncio.create_task(commit(backend, lease, page(1, cursor="after:1")))
        await until(admin, WAITING)
        await admin.execute(f"select pg_terminate_backend(({WAITING}))")
        with pytest.raises(StoreAway):
            await committing
    [job] = await backend.stores.jobs.list()
    assert (job.cursor, job.counters, job.status) == (None, {}, "leased")
    assert await commit(backend, lease, page(1, cursor="after:1")) == {"added": 1}
