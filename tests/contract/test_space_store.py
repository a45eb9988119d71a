"""What every store of phrase spaces does."""

import asyncio
import itertools
import multiprocessing
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from support.links import draw_many
from support.stores import LINK_BACKENDS, Backend, open_backend

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


async def test_a_space_keeps_its_first_key(backend: Backend) -> None:
    spaces = backend.sharing.spaces
    first = await spaces.open_space("en", None, "digest", b"first")
    assert first.key == b"first"
    assert await spaces.open_space("en", None, "digest", b"second") == first
    others = [("en", None, "new words"), ("en", "animals", "digest"), ("pl", None, "digest")]
    records = [await spaces.open_space(*other, b"third") for other in others]
    assert len({first.id, *(record.id for record in records)}) == 4


async def test_of_several_who_open_a_space_at_once_all_get_the_same(backend: Backend) -> None:
    async with backend.open_sharing_again() as other:
        opened = await asyncio.gather(
            *(
                stores.spaces.open_space("en", None, "digest", b"%d" % number)
                for number, stores in enumerate((backend.sharing, other) * 4)
            )
        )
    assert len(set(opened)) == 1


async def test_blocks_of_numbers_never_overlap(backend: Backend) -> None:
    space = await backend.sharing.spaces.open_space("en", None, "digest", b"key")

    async def reserve(size: int) -> range:
        async with backend.open_sharing_again() as other:
            return await other.spaces.reserve(space.id, size, 10_000)

    blocks = await asyncio.gather(*(reserve(size) for size in (1, 7, 100, 3, 1, 20)))
    numbers = list(itertools.chain(*blocks))
    assert sorted(numbers) == list(range(132))


async def test_a_space_is_given_out_to_its_last_number_and_no_further(backend: Backend) -> None:
    spaces = backend.sharing.spaces
    space = await spaces.open_space("en", None, "digest", b"key")
    assert await spaces.reserve(space.id, 7, 10) == range(7)
    assert await spaces.reserve(space.id, 7, 10) == range(7, 10)
    assert not await spaces.reserve(space.id, 7, 10)
    assert not await spaces.reserve(space.id, 1, 3)
    other = await spaces.open_space("en", "animals", "digest", b"key")
    assert await spaces.reserve(other.id, 1, 1) == range(1)


@pytest.mark.timeout(300)
def test_processes_beside_one_another_never_draw_the_same_phrase(tmp_path: Path) -> None:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(8, mp_context=fresh) as processes:
        phrases = list(itertools.chain(*processes.map(draw_many, [str(tmp_path)] * 8, [125_000] * 8)))
    assert len(set(phrases)) == len(phrases) == 1_000_000
