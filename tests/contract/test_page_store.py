"""What every page store does: places, cursor and counters in one commit, under the job's fence."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.places import fetched, page
from support.stores import BACKENDS, Backend, open_backend
from waypost.importing.source import Page, Reject
from waypost.scaling.jobs.job import Lease, LeaseLost, NewJob

pytestmark = pytest.mark.anyio

SHARD = "ocm/country:DE/full:2026-02-21"
NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)


@pytest.fixture
async def lease(backend: Backend) -> Lease:
    await backend.stores.jobs.enqueue([NewJob(shard) for shard in [SHARD]], group="one")
    [claimed] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_attempts=5)
    return claimed


async def stored(backend: Backend) -> dict[str, str]:
    return {place.external_id: place.name async for batch in backend.stores.places.scan(2) for place in batch}


async def test_a_page_brings_places_moves_the_cursor_and_counts(backend: Backend, lease: Lease) -> None:
    committed = await backend.stores.pages.commit(
        lease, page(1, 2, cursor="after:2"), requested_at=NOON, counted={"requests": 1}
    )
    assert committed.changes["added"] == 2
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.cursor, job.status, job.attempts) == ("after:2", "leased", 0)
    assert job.counters == {"requests": 1, "added": 2}
    assert await backend.stores.places.count() == 2
    assert await backend.stores.places.get(fetched(1).place.id) == fetched(1).place


async def test_a_last_page_ends_the_job(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(last=True), requested_at=NOON, counted={})
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.status, job.lease_owner) == ("done", None)
    assert job.finished_at is not None
    with pytest.raises(LeaseLost):
        await backend.stores.pages.commit(lease, page(3), requested_at=NOON, counted={})


async def test_a_stale_worker_writes_nothing(backend: Backend, lease: Lease) -> None:
    await backend.age(31)
    [newer] = await backend.stores.jobs.claim("other", limit=1, lease=30, max_attempts=5)
    with pytest.raises(LeaseLost):
        await backend.stores.pages.commit(lease, page(1, cursor="after:1"), requested_at=NOON, counted={"requests": 1})
    assert await stored(backend) == {}
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.cursor, job.counters, job.fence) == (None, {}, newer.fence)


async def test_a_replayed_page_changes_nothing(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(1, 2), requested_at=NOON, counted={})
    committed = await backend.stores.pages.commit(
        lease, page(1, 2), requested_at=NOON + timedelta(minutes=1), counted={}
    )
    assert (committed.changes["added"], committed.changes["changed"], committed.changes["unchanged"]) == (0, 0, 2)


async def test_a_change_in_the_record_alone_is_a_change(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(1), requested_at=NOON, counted={})
    edited = msgspec.structs.replace(fetched(1), record=b'{"ID":1,"UsageCost":"free"}')
    committed = await backend.stores.pages.commit(
        lease, Page((edited,), (), "after:1", last=False), requested_at=NOON, counted={}
    )
    assert committed.changes["changed"] == 1


async def test_what_a_later_request_brought_is_not_overwritten_by_a_late_page(backend: Backend, lease: Lease) -> None:
    later, earlier = NOON, NOON - timedelta(seconds=1)
    await backend.stores.pages.commit(lease, page(1, name="new"), requested_at=later, counted={})
    committed = await backend.stores.pages.commit(lease, page(1, name="old"), requested_at=earlier, counted={})
    assert committed.changes["unchanged"] == 1
    assert await stored(backend) == {"ocm:1": "new"}


async def test_a_rejected_record_is_counted_and_does_not_stop_the_page(backend: Backend, lease: Lease) -> None:
    mixed = Page((fetched(1),), (Reject(b'{"ID":"?"}', "no id"), Reject(b"{", "broken")), "after:1", last=False)
    committed = await backend.stores.pages.commit(lease, mixed, requested_at=NOON, counted={})
    assert (committed.changes["added"], committed.changes["rejected"]) == (1, 2)


async def test_one_record_twice_in_a_page_is_one_place(backend: Backend, lease: Lease) -> None:
    committed = await backend.stores.pages.commit(lease, page(1, 1), requested_at=NOON, counted={})
    assert (committed.changes["added"], committed.changes["unchanged"]) == (1, 1)
    assert await backend.stores.places.count() == 1


async def test_a_scan_brings_every_place_once_in_order(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(*range(1, 12)), requested_at=NOON, counted={})
    assert list(await stored(backend)) == sorted(f"ocm:{number}" for number in range(1, 12))


@pytest.mark.parametrize("name", BACKENDS)
@given(order=st.lists(st.integers(0, 20), min_size=1, max_size=8, unique=True))
@settings(max_examples=25, deadline=None)
def test_in_whatever_order_pages_arrive_the_latest_request_wins(
    tmp_path_factory: pytest.TempPathFactory, name: str, order: list[int]
) -> None:
    async def check() -> None:
        async with open_backend(name, tmp_path_factory.mktemp("pages")) as backend:
            await backend.stores.jobs.enqueue([NewJob(shard) for shard in [SHARD]], group="one")
            [claimed] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_attempts=5)
            for sent in order:
                brought = page(1, name=f"sent at {sent}")
                at = NOON + timedelta(seconds=sent)
                await backend.stores.pages.commit(claimed, brought, requested_at=at, counted={})
            assert await stored(backend) == {"ocm:1": f"sent at {max(order)}"}

    asyncio.run(check())
