"""What every place store does for those who read it together: parts that share no place and leave none out."""

import pytest

from support.places import page, writing
from support.stores import Backend
from waypost.places.store import Part
from waypost.scaling.jobs.job import NewJob

pytestmark = pytest.mark.anyio


async def bring(backend: Backend, *numbers: int) -> None:
    shard = f"ocm/country:DE/ids:{min(numbers)}..{max(numbers)}/full:2026-02-21"
    await backend.stores.jobs.enqueue([NewJob(shard)])
    [lease] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
    await backend.stores.pages.commit(lease, page(*numbers, last=True), writing())


async def read(backend: Backend, part: Part) -> list[str]:
    return [place.external_id async for batch in backend.stores.places.scan(2, part) for place in batch]


@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 100])
async def test_parts_together_are_all_places_each_once(backend: Backend, wanted: int) -> None:
    await bring(backend, *range(1, 24))
    parts = await backend.stores.places.parts(wanted)
    assert 1 <= len(parts) <= wanted
    found = [external_id for part in parts for external_id in await read(backend, part)]
    assert sorted(found) == sorted(f"ocm:{number}" for number in range(1, 24))


async def test_an_empty_store_has_nothing_in_any_part(backend: Backend) -> None:
    assert [
        await read(backend, part) for part in await backend.stores.places.parts(3) if await read(backend, part)
    ] == []


async def test_places_that_come_later_are_in_one_part_at_most(backend: Backend) -> None:
    await bring(backend, *range(1, 10))
    parts = await backend.stores.places.parts(3)
    await bring(backend, *range(10, 20))
    found = [external_id for part in parts for external_id in await read(backend, part)]
    assert len(found) == len(set(found))
    assert {f"ocm:{number}" for number in range(1, 10)} <= set(found)
