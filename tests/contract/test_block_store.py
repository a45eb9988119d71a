"""What every store of blocks does."""

from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from support.links import NOON
from support.stores import LINK_BACKENDS, Backend, open_backend
from waypost.adapters.postgres import blocks as postgres_blocks
from waypost.adapters.sqlite import blocks as sqlite_blocks
from waypost.sharing.blocks.block import Block, BlockKind, TooManyBlocks, UnknownBlock
from waypost.sharing.blocks.live import LiveBlocks

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


def block(value: str = "bad.example", kind: BlockKind = "host", minutes: int = 0) -> Block:
    return Block(kind=kind, value=value, added_at=NOON + timedelta(minutes=minutes), added_by="local")


async def test_blocks_come_back_by_kind_and_value(backend: Backend) -> None:
    store = backend.sharing.blocks
    made = [block("a.example"), block("b.example"), block("a.example", "word")]
    for each in reversed(made):
        assert await store.add(each)
    assert await store.list() == made


async def test_each_change_makes_another_version_and_nothing_else_does(backend: Backend) -> None:
    store, versions = backend.sharing.blocks, [await backend.sharing.blocks.version()]

    done = []
    for act in (
        store.add(block()),
        store.add(block(minutes=1)),
        store.remove("host", "bad.example"),
        store.remove("host", "bad.example"),
    ):
        done.append(await act)
        versions.append(await store.version())
    assert done == [True, True, True, False]
    assert [one != two for one, two in pairwise(versions)] == [True, False, True, False]


async def test_there_are_only_so_many(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    for adapter in (sqlite_blocks, postgres_blocks):
        monkeypatch.setattr(adapter, "MOST_BLOCKS", 2)
    store = backend.sharing.blocks
    assert await store.add(block("one.example"))
    assert await store.add(block("two.example"))
    assert not await store.add(block("three.example"))
    assert await store.add(block("two.example"))
    with pytest.raises(TooManyBlocks):
        await LiveBlocks(store).add("host", "four.example", "local")


async def test_another_process_learns_of_a_change_and_of_its_end(backend: Backend) -> None:
    told: list[frozenset[str]] = []

    async def tell(hosts: frozenset[str]) -> None:
        told.append(hosts)

    async with backend.open_sharing_again() as elsewhere:
        ours = LiveBlocks(backend.sharing.blocks, frozenset({"set.example"}), tell)
        theirs = LiveBlocks(elsewhere.blocks)
        await ours.look()
        await theirs.add("host", "BAD.example.", "local")
        await theirs.add("word", "Łódź", "local")
        await ours.look()
        assert ours.hosts == {"set.example", "bad.example"}
        assert ours.words == {"lodz"}
        await theirs.remove("host", "bad.example")
        await ours.look()
        await ours.look()
        assert told == [{"set.example", "bad.example"}, {"set.example"}]
        with pytest.raises(UnknownBlock):
            await theirs.remove("host", "bad.example")
