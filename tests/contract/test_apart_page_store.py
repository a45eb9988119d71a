"""What every page store does whose jobs are kept elsewhere: it knows each shard's fence and cursor."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.places import page, writing
from support.stores import BACKENDS, Backend, open_backend
from waypost.adapters.errors import StoreAway
from waypost.bootstrap.stores import open_stores
from waypost.importing.source import Page
from waypost.scaling.jobs.job import Done, Lease, LeaseLost, NewJob

pytestmark = pytest.mark.anyio

SHARD = "ocm/country:DE/full:2026-02-21"


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path, {"jobs": f"sqlite:///{tmp_path / 'jobs.db'}"}) as opened:
        yield opened


@pytest.fixture
async def lease(backend: Backend) -> Lease:
    await backend.stores.jobs.enqueue([NewJob(SHARD)])
    [claimed] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
    return claimed


def with_fence(lease: Lease, fence: int) -> Lease:
    return Lease(lease.job_id, lease.shard, fence, lease.attempts, lease.cursor)


async def commit(backend: Backend, lease: Lease, brought: Page) -> dict[str, int]:
    committed = await backend.stores.pages.commit(lease, brought, writing(counted={"requests": 1}))
    assert not committed.ended
    return {name: number for name, number in committed.changes.items() if number}


async def test_a_new_shard_begins_at_its_beginning(backend: Backend, lease: Lease) -> None:
    assert await backend.stores.pages.begin(lease) == lease


async def test_a_page_brings_places_and_the_job_follows(backend: Backend, lease: Lease) -> None:
    assert await commit(backend, lease, page(1, 2, cursor="after:2")) == {"added": 2}
    assert await backend.stores.places.count() == 2
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.cursor, job.status, job.counters) == ("after:2", "leased", {"requests": 1, "added": 2})


async def test_the_cursor_to_go_on_from_is_the_place_stores_own(backend: Backend, lease: Lease) -> None:
    await commit(backend, lease, page(1, cursor="after:1"))
    begun = await backend.stores.pages.begin(with_fence(lease, lease.fence + 1))
    assert begun
    assert (begun.cursor, begun.fence) == ("after:1", lease.fence + 1)


async def test_a_last_page_ends_the_shard_and_the_worker_ends_the_job(backend: Backend, lease: Lease) -> None:
    await commit(backend, lease, page(1, cursor=None, last=True))
    assert await backend.stores.pages.begin(lease) is None
    assert await backend.stores.jobs.complete([Done(lease)]) == {lease.job_id}


async def test_once_a_newer_fence_has_begun_an_older_one_writes_nothing(backend: Backend, lease: Lease) -> None:
    await commit(backend, lease, page(1, cursor="after:1"))
    newer = with_fence(lease, lease.fence + 5)
    assert await backend.stores.pages.begin(newer)
    with pytest.raises(LeaseLost):
        await commit(backend, lease, page(2, name="stale", cursor="after:2"))
    with pytest.raises(LeaseLost):
        await backend.stores.pages.begin(lease)
    assert await backend.stores.places.count() == 1
    begun = await backend.stores.pages.begin(newer)
    assert begun
    assert begun.cursor == "after:1"


async def test_a_job_store_that_forgot_everything_gives_larger_fences_than_the_places_have_seen(
    backend: Backend, lease: Lease, tmp_path: Path
) -> None:
    await backend.stores.pages.begin(with_fence(lease, 700))
    empty = replace(backend.settings.storage, jobs=f"sqlite:///{tmp_path / 'empty.db'}")
    async with open_stores(replace(backend.settings, storage=empty)) as stores:
        await stores.jobs.enqueue([NewJob(SHARD)])
        [claimed] = await stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
    assert claimed.fence > 700


PARTS = (f"{SHARD}/ids:3..9", f"{SHARD}/ids:9..")


class Killed:
    """Where a worker does not get to: it is killed after the places are committed."""

    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        raise StoreAway("killed")


async def test_a_split_ends_the_shard_and_the_job(backend: Backend, lease: Lease) -> None:
    committed = await backend.stores.pages.commit(lease, page(1, cursor="after:2"), writing(parts=PARTS))
    assert committed.ended
    assert (await backend.stores.jobs.count()) == {"done": 1, "pending": 2}


async def test_a_split_that_the_job_store_never_heard_of_is_told_by_the_next_holder(
    backend: Backend, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(backend.stores.pages, "_jobs", Killed())
        with pytest.raises(StoreAway):
            await backend.stores.pages.commit(lease, page(1, cursor="after:2"), writing(parts=PARTS))
    assert (await backend.stores.jobs.count()) == {"leased": 1}
    assert await backend.stores.pages.begin(lease) is None
    assert (await backend.stores.jobs.count()) == {"done": 1, "pending": 2}
