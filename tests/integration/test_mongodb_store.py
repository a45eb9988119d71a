"""What only MongoDB's stores of places can get wrong: plans, conflicts, lost replies, documents that are too large."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pymongo
import pytest
from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import ExecutionTimeout

from support.forgetful_proxy import ForgetfulProxy
from support.job_store_mongodb import open_database
from support.mongodb_commands import Commands
from support.places import NOON, fetched, page, writing
from support.stores import Backend, open_backend
from waypost.adapters.errors import StoreAway, StoreBusy
from waypost.adapters.mongodb import claiming
from waypost.adapters.mongodb import database as mongo_database
from waypost.adapters.mongodb.database import MongoDatabase
from waypost.adapters.mongodb.jobs import MongoJobStore
from waypost.adapters.mongodb.offers import Offer
from waypost.adapters.mongodb.pages import MongoApartPageStore, MongoPageStore
from waypost.adapters.mongodb.places import MongoPlaceStore
from waypost.bootstrap.budgets import _budget_url
from waypost.bootstrap.stores import LinksElsewhere, open_sharing_stores
from waypost.importing.cuts import IdRange
from waypost.importing.passes import ENDING
from waypost.importing.source import Page, Reject
from waypost.scaling.jobs.job import Lease, NewJob
from waypost.settings import load_settings

pytestmark = pytest.mark.anyio

SHARD = "ocm/country:DE/full:2026-02-21"


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend("mongodb", tmp_path) as opened:
        yield opened


@pytest.fixture
async def database(backend: Backend) -> AsyncIterator[MongoDatabase]:
    """A connection beside the store's."""
    async with open_database(backend.settings.storage.store_url) as opened:
        yield opened


async def shard(backend: Backend, key: str = SHARD) -> Lease:
    await backend.stores.jobs.enqueue([NewJob(key)], group="one")
    leases = await backend.stores.jobs.claim("me", limit=10, lease=30, max_vanished=5)
    return next(lease for lease in leases if lease.shard == key)


async def bring(backend: Backend, lease: Lease, brought: Page, *, at: int = 0, **more: Any) -> dict[str, int]:
    about = writing(requested_at=NOON + timedelta(seconds=at), counted={"requests": 1}, **more)
    committed = await backend.stores.pages.commit(lease, brought, about)
    changes = Counter(committed.changes)
    while committed.more:
        committed = await backend.stores.pages.go_on(msgspec.structs.replace(lease, cursor=ENDING), about)
        changes.update(committed.changes)
    return {name: number for name, number in changes.items() if number}


async def documents(database: MongoDatabase) -> dict[str, dict[str, Any]]:
    return {place["_id"]: place async for place in database.database.places.find()}


# What is written


async def test_of_a_page_only_what_is_new_or_changed_is_written(backend: Backend, database: MongoDatabase) -> None:
    lease = await shard(backend)
    await bring(backend, lease, page(*range(50)))
    before = await documents(database)
    mixed = Page((*page(*range(1, 50)).fetched, fetched(0, name="new"), fetched(99)), (), "after:99", last=False)
    assert await bring(backend, lease, mixed, at=1) == {"added": 1, "changed": 1, "unchanged": 49}
    after = await documents(database)
    assert {name for name, place in after.items() if before.get(name) != place} == {"ocm:0", "ocm:99"}


async def test_a_rejected_record_is_kept_once(backend: Backend, database: MongoDatabase) -> None:
    lease = await shard(backend)
    rejects = (Reject(b"{\0", "odd: \0"), Reject(b"{\0", "odd: \0"), Reject(b"?", "no id"))
    for _ in range(2):
        assert await bring(backend, lease, Page((), rejects, "after:1", last=False)) == {"rejected": 3}
    kept = await database.database.rejects.find({}, sort=[("reason", 1)]).to_list()
    assert [(each["record"], each["reason"]) for each in kept] == [(b"?", "no id"), (b"{\0", "odd: \0")]


async def test_nothing_is_left_of_a_place_that_was_removed_but_what_tells_late_pages_so(
    backend: Backend, database: MongoDatabase
) -> None:
    await bring(backend, await shard(backend), page(1, last=True))
    again = await shard(backend, "ocm/country:DE/refresh:one")
    assert await bring(backend, again, page(last=True, covers=IdRange()), at=1) == {"removed": 1}
    [tombstone] = (await documents(database)).values()
    assert not {"place", "record"} & set(tombstone)
    assert await database.database.candidates.count_documents({}) == 0


async def test_a_record_that_does_not_fit_into_a_document_is_rejected_and_the_page_goes_on(
    backend: Backend, database: MongoDatabase
) -> None:
    lease = await shard(backend)
    await bring(backend, lease, page(1, 2, last=True))
    large = msgspec.structs.replace(fetched(1), record=b" " * 17_000_000)
    fits = msgspec.structs.replace(fetched(3), record=b" " * 16_000_000)
    mixed = Page((large, fetched(2), fits), (Reject(b"?" * 17_000_000, "no id"),), None, last=True, covers=IdRange())
    again = await shard(backend, "ocm/country:DE/refresh:one")
    assert await bring(backend, again, mixed, at=1) == {"added": 1, "unchanged": 1, "rejected": 2, "unsure": 1}
    assert await backend.stores.places.get(fetched(1).place.id) == fetched(1).place
    kept = await backend.stores.places.get_with_record(fetched(3).place.id)
    assert kept
    assert len(kept.record) == 16_000_000
    told = await database.database.rejects.find({}, {"reason": 1}).to_list()
    assert any("17000000 bytes" in each["reason"] for each in told)


# Transactions


def page_store(database: MongoDatabase) -> MongoPageStore:
    return MongoPageStore(database, MongoJobStore(database))


async def is_waiting(task: "asyncio.Task[Any]") -> bool:
    done, _ = await asyncio.wait({task}, timeout=0.3)
    return not done


async def test_nobody_claims_a_job_while_its_page_is_committed(backend: Backend, database: MongoDatabase) -> None:
    lease = await shard(backend)
    # The second page writes the same cursor and counts nothing: for MongoDB that alone would be no write at all.
    about = writing()
    await backend.stores.pages.commit(lease, page(cursor="after:1"), about)
    await backend.age(31)
    is_held, goes_on = asyncio.Event(), asyncio.Event()

    async def commit(session: AsyncClientSession) -> None:
        await page_store(database)._hold(session, lease, "after:1", about)
        is_held.set()
        await goes_on.wait()

    committing = asyncio.create_task(database.transaction(commit))
    await is_held.wait()
    assert await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5) == []
    goes_on.set()
    await committing
    [newer] = await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
    assert (newer.cursor, newer.fence > lease.fence) == ("after:1", True)


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_a_job_that_is_held_for_long_keeps_no_others_from_being_claimed_or_renewed(
    backend: Backend, database: MongoDatabase, limit: int
) -> None:
    """As after a kill in the middle of a commit, until the server notices."""
    lease = await shard(backend)
    await backend.age(31)
    jobs = backend.stores.jobs
    is_held, goes_on = asyncio.Event(), asyncio.Event()

    async def commit(session: AsyncClientSession) -> None:
        await page_store(database)._hold(session, lease, "after:1", writing())
        is_held.set()
        await goes_on.wait()

    committing = asyncio.create_task(database.transaction(commit))
    await is_held.wait()
    await jobs.enqueue([NewJob("ocm/country:FR/full:2026-02-21")])
    [found] = await jobs.claim("other", limit=limit, lease=30, max_vanished=5)
    assert found.shard == "ocm/country:FR/full:2026-02-21"
    renewed = await jobs.renew([lease, found], lease=30)
    assert (renewed.kept, renewed.busy) == ({found.job_id}, {lease.job_id})
    goes_on.set()
    await committing


async def test_a_job_that_is_held_and_was_begun_too_often_keeps_no_others_from_being_claimed(
    backend: Backend, database: MongoDatabase
) -> None:
    spent, _ = await shard(backend), await shard(backend, "ocm/country:FR/full:2026-02-21")
    await backend.age(31)
    await database.jobs.update_one({"shard": SHARD}, {"$set": {"attempts": 5}})
    async with database.client.start_session() as session, await session.start_transaction():
        await database.jobs.update_one({"_id": spent.job_id}, {"$set": {"pages": 7}}, session=session)
        [found] = await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
        assert found.shard == "ocm/country:FR/full:2026-02-21"
        await session.abort_transaction()
    assert await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5) == []
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert job.status == "dead"


async def test_a_claim_that_others_hold_up_leaves_out_what_they_hold(
    backend: Backend, database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that are due are in the hands of nobody, unless somebody just wants them as well."""
    monkeypatch.setattr(claiming, "_PATIENCE_SECONDS", 0.05)
    await backend.stores.jobs.enqueue([NewJob(f"ocm/country:FR/full:{number}") for number in range(5)])
    async with database.client.start_session() as session, await session.start_transaction():
        await database.jobs.update_one({"shard": "ocm/country:FR/full:3"}, {"$set": {"pages": 7}}, session=session)
        leases = await backend.stores.jobs.claim("one", limit=5, lease=30, max_vanished=5)
        assert [lease.shard[-1] for lease in leases] == ["0", "1", "2", "4"]
        await session.abort_transaction()
    [last] = await backend.stores.jobs.claim("one", limit=5, lease=30, max_vanished=5)
    assert last.shard == "ocm/country:FR/full:3"


@pytest.mark.parametrize("count", [1, 3])
async def test_a_claim_whose_answer_comes_too_late_is_a_claim(
    backend: Backend, database: MongoDatabase, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """As on a slow disk."""
    jobs = MongoJobStore(database)
    leased = jobs._claims._leased

    async def too_late(offer: Offer, session: AsyncClientSession | None = None) -> list[Lease]:
        if session is None:
            raise ExecutionTimeout("too late")
        return await leased(offer, session)

    monkeypatch.setattr(jobs._claims, "_leased", too_late)
    await jobs.enqueue([NewJob(f"ocm/country:FR/full:{number}") for number in range(count)])
    leases = await jobs.claim("one", limit=count, lease=30, max_vanished=5)
    assert [lease.attempts for lease in leases] == [1] * count
    assert (await jobs.renew(leases, lease=30)).kept == {lease.job_id for lease in leases}


async def test_nobody_begins_a_shard_while_a_page_of_it_is_committed(database: MongoDatabase) -> None:
    pages = MongoApartPageStore(database, MongoJobStore(database))
    older, newer = Lease("one", SHARD, 5, 1, None), Lease("one", SHARD, 6, 1, None)
    await pages.begin(older)
    is_held, goes_on = asyncio.Event(), asyncio.Event()

    async def commit(session: AsyncClientSession) -> None:
        await pages._hold(older, session)
        is_held.set()
        await goes_on.wait()

    committing = asyncio.create_task(database.transaction(commit))
    await is_held.wait()
    beginning = asyncio.create_task(pages.begin(newer))
    assert await is_waiting(beginning)
    goes_on.set()
    await committing
    assert await beginning == newer


async def test_of_two_pages_at_once_the_later_request_wins_whoever_commits_last(backend: Backend) -> None:
    one = await shard(backend)
    two = await shard(backend, "ocm/country:DE/window:2026-02")
    numbers = range(40)
    for turn in range(1, 11):
        async with backend.open_again() as other:
            later = other.pages.commit(
                two, page(*numbers, name=f"later {turn}"), writing(requested_at=NOON + timedelta(seconds=turn))
            )
            earlier = backend.stores.pages.commit(
                one, page(*numbers, name="earlier"), writing(requested_at=NOON + timedelta(seconds=turn - 0.5))
            )
            await asyncio.gather(earlier, later)
        names = {place.name async for batch in backend.stores.places.scan() for place in batch}
        assert names == {f"later {turn}"}
    job = await backend.stores.jobs.get(one.job_id)
    assert job
    # Whoever had to start again has counted once all the same.
    assert sum(job.counters.values()) == 10 * len(numbers)


async def test_a_conflict_that_does_not_end_is_told_after_so_many_tries(
    backend: Backend, database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo_database, "_LONGEST_PAUSE", 0.01)
    lease = await shard(backend)
    await bring(backend, lease, page(1))
    async with database.client.start_session() as session, await session.start_transaction():
        await database.database.places.update_one({"_id": "ocm:1"}, {"$set": {"number": 7}}, session=session)
        with pytest.raises(StoreBusy):
            await bring(backend, lease, page(1, name="new", cursor="after:1"), at=1)
        await session.abort_transaction()
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.cursor, job.counters) == ("after:9", {"requests": 1, "added": 1})


# The kinds of command that a page is made of: the reply to any of them may be lost.
@pytest.mark.parametrize("command", ["findAndModify", "delete", "find", "insert", "commitTransaction"])
@pytest.mark.parametrize("parts", [(), (f"{SHARD}/ids:5..",)], ids=["last page", "split"])
async def test_a_page_whose_reply_was_lost_is_kept_once(backend: Backend, command: str, parts: tuple[str, ...]) -> None:
    proxy = ForgetfulProxy(backend.settings.storage.store_url)
    lease = await shard(backend)
    async with open_database(await proxy.start()) as distant:
        proxy.lose_reply_to(command)
        about = writing(counted={"requests": 1}, parts=parts)
        committed = await page_store(distant).commit(lease, page(1, 2, last=not parts), about)
        assert proxy.lost == 1
    await proxy.cut()
    assert (committed.changes["added"], committed.ended) == (2, True)
    tally = await backend.stores.jobs.tally("one")
    assert tally.counters == {"requests": 1, "added": 2}
    assert tally.jobs == ({"done": 1, "pending": 1} if parts else {"done": 1})
    assert await backend.stores.outbox.count() == 1


async def test_a_page_of_which_nobody_hears_whether_it_was_kept_is_not_tried_again(backend: Backend) -> None:
    proxy = ForgetfulProxy(backend.settings.storage.store_url)
    lease = await shard(backend)
    async with open_database(await proxy.start()) as distant:
        proxy.lose_reply_to("commitTransaction", for_good=True)
        with pymongo.timeout(2), pytest.raises(StoreAway):
            await page_store(distant).commit(lease, page(1, 2, cursor="after:2"), writing(counted={"requests": 1}))
    await proxy.cut()
    # It was, and whoever is next goes on after it.
    await backend.age(31)
    [next_lease] = await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
    assert next_lease.cursor == "after:2"
    assert (await backend.stores.jobs.tally("one")).counters == {"requests": 1, "added": 2}
    assert await backend.stores.places.count() == 2


# Plans


LOOKS = {"find", "update", "delete", "findAndModify", "aggregate"}
# Of a command, what belongs to its transaction and not to what it looks for.
NOT_EXPLAINED = {
    *("lsid", "txnNumber", "startTransaction", "autocommit", "readConcern", "writeConcern"),
    *("$db", "$clusterTime", "$readPreference", "maxTimeMS"),
}


async def test_every_look_up_of_a_page_goes_by_an_index(
    backend: Backend, database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bring(backend, await shard(backend), page(*range(2000), last=True))
    await shard(backend, "ocm/country:DE/window:2026-02")
    lease = await shard(backend, "ocm/country:DE/refresh:one")
    heard = Commands()
    monkeypatch.setattr(mongo_database, "AsyncMongoClient", partial(AsyncMongoClient, event_listeners=[heard]))
    async with open_database(backend.settings.storage.store_url) as listening:
        pages, apart = page_store(listening), MongoApartPageStore(listening, backend.stores.jobs)
        await apart.begin(lease)
        await apart.highest_fence()
        heard.sent.clear()
        for last in (False, True):
            mixed = Page((fetched(1), fetched(2, name="new"), fetched(3000)), (), "a", last=last, covers=IdRange(0, 9))
            about = writing(requested_at=NOON + timedelta(seconds=1 + last))
            await apart.commit(lease, mixed, about)
            await pages.commit(lease, mixed, about)
        await MongoPlaceStore(listening).get(fetched(1).place.id)
        await MongoPlaceStore(listening).count()
    looks = [command for command in heard.sent if LOOKS & set(command)]
    assert {next(iter(command)) for command in looks} == LOOKS
    for command in looks:
        asked = {name: value for name, value in command.items() if name not in NOT_EXPLAINED}
        told = await database.database.command("explain", asked, verbosity="executionStats")
        # The store's clock is asked for with a look at a collection of one document.
        assert "COLLSCAN" not in str(told) or command.get("find") == "counters", asked
        stats = told.get("executionStats") or told["stages"][0]["$cursor"]["executionStats"]
        assert stats["totalDocsExamined"] <= 20, asked


# Settings


async def test_who_asks_for_links_is_told_where_they_are(backend: Backend) -> None:
    with pytest.raises(LinksElsewhere, match="PostgreSQL or SQLite"):
        open_sharing_stores(backend.settings)


@pytest.mark.parametrize(
    ("urls", "chosen"),
    [
        ({}, "sqlite:///{data}/budgets.db"),
        ({"redis": "redis://a"}, "redis://a"),
        ({"jobs": "redis://b"}, "redis://b"),
        ({"jobs": "postgresql://c"}, "postgresql://c"),
        ({"jobs": "mongodb://d"}, "sqlite:///{data}/budgets.db"),
        ({"jobs": "mongodb://d", "store": ""}, "sqlite:///{data}/waypost.db"),
        ({"jobs": "mongodb://d", "store": "postgresql://e"}, "postgresql://e"),
    ],
)
def test_where_the_budget_is(tmp_path: Path, urls: dict[str, str], chosen: str) -> None:
    settings = load_settings({"data": str(tmp_path), "store": "mongodb://a", **urls}, environ={})
    assert _budget_url(settings.storage) == chosen.format(data=tmp_path)
