"""The cache in memory: what it gives, for how long, and that it never gives what was invalidated."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from waypost.kernel.errors import NotFound, StoreTrouble
from waypost.scaling.caching import memory
from waypost.scaling.caching.cache import Lifetimes, Loaded
from waypost.scaling.caching.memory import MemoryCache

LIVES = Lifetimes(fresh=10, kept=60, unknown=2)


class Shelf:
    """A source that counts what it is asked, can be told to fail, and to wait."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.asked: list[str] = []
        self.fails: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.now = 0.0

    async def load(self, keys: Sequence[str]) -> list[Loaded[str]]:
        self.asked.append(" ".join(keys))
        found = [Loaded(self.values.get(key), (key[0],)) for key in keys]
        await self.gate.wait()
        if self.fails:
            raise self.fails
        return found


async def turns() -> None:
    """Lets everybody else come as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


def with_cache(
    work: Callable[[MemoryCache[str, str], Shelf], Awaitable[Any]], *, most: int = 100, chance: float = 0.0
) -> None:
    async def run() -> None:
        shelf = Shelf()
        shelf.values |= {"apple": "red", "avocado": "green", "banana": "yellow"}
        cache = MemoryCache[str, str](shelf.load, LIVES, most=most, clock=lambda: shelf.now, chance=lambda: chance)
        await work(cache, shelf)

    asyncio.run(run())


def test_a_hit_needs_no_source() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        assert cache.hit("apple", 0) is None
        assert [await cache.get("apple") for _ in range(3)] == ["red"] * 3
        assert cache.hit("apple", 9.9) == "red"
        assert shelf.asked == ["apple"]

    with_cache(work)


def test_many_who_ask_at_once_cause_one_question() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        assert await asyncio.gather(*(cache.get("apple") for _ in range(50))) == ["red"] * 50
        assert shelf.asked == ["apple"]

    with_cache(work)


def test_whoever_asked_first_may_go_away() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        shelf.gate.clear()
        first, second = (asyncio.create_task(cache.get("apple")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        shelf.gate.set()
        assert await second == "red"
        assert shelf.asked == ["apple"]

    with_cache(work)


def test_what_is_unknown_is_remembered_briefly() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        for _ in range(3):
            assert await cache.get("cherry") is None
        assert shelf.asked == ["cherry"]
        shelf.now = 2
        shelf.values["cherry"] = "dark"
        assert await cache.get("cherry") == "dark"

    with_cache(work)


def test_past_its_soft_expiry_a_value_is_read_again() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        shelf.now, shelf.values["apple"] = 10, "brown"
        assert cache.hit("apple", 10) is None
        assert await cache.get("apple") == "brown"

    with_cache(work)


def test_what_is_asked_for_when_it_is_soon_stale_is_renewed_with_others_and_nobody_waits() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        for key in ("apple", "avocado", "banana"):
            await cache.get(key)
        shelf.asked.clear()
        shelf.now = 6.9
        assert cache.hit("apple", 6.9) == "red"
        await turns()
        assert shelf.asked == []
        shelf.now, shelf.values["apple"] = 7, "brown"
        # As often as they are asked for, they are read once; nobody asks for the banana.
        assert [cache.hit("apple", 7), cache.hit("apple", 7), await cache.get("avocado")] == ["red", "red", "green"]
        await turns()
        assert shelf.asked == ["apple avocado"]
        assert [cache.hit(key, 10) for key in ("apple", "avocado", "banana")] == ["brown", "green", None]
        assert cache.hit("apple", 17) is None

    with_cache(work)


def test_no_more_are_renewed_at_once_than_the_event_loop_can_bear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_RENEWED_AT_ONCE", 2)

    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        for key in ("apple", "avocado", "banana"):
            await cache.get(key)
        shelf.asked.clear()
        shelf.now = 8
        for key in ("apple", "avocado", "banana"):
            cache.hit(key, 8)
        await turns()
        assert shelf.asked == ["apple avocado", "banana"]

    with_cache(work)


def test_what_is_unknown_is_not_renewed() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("cherry")
        shelf.now = 1.9
        await cache.get("cherry")
        await turns()
        assert shelf.asked == ["cherry"]

    with_cache(work)


def test_what_could_not_be_renewed_is_good_until_it_is_stale() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        await cache.get("banana")
        shelf.asked.clear()
        shelf.fails, shelf.now = StoreTrouble("away"), 8
        assert (cache.hit("apple", 8), cache.hit("banana", 8)) == ("red", "yellow")
        await turns()
        assert cache.hit("apple", 9.9) == "red"
        await turns()
        assert shelf.asked == ["apple banana"]
        shelf.fails, shelf.now = None, 10
        assert await cache.get("apple") == "red"
        await turns()
        shelf.now = 18
        # And whoever was renewed once is renewed again.
        cache.hit("apple", 18)
        await turns()
        assert shelf.asked == ["apple banana", "apple", "apple"]

    with_cache(work)


@pytest.mark.parametrize("by", ["key", "tag"])
def test_a_renewal_that_began_before_an_invalidation_is_thrown_away(by: str) -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        await cache.get("banana")
        shelf.gate.clear()
        shelf.now = 8
        cache.hit("apple", 8)
        cache.hit("banana", 8)
        await turns()
        shelf.values |= {"apple": "brown", "banana": "black"}
        if by == "key":
            cache.invalidate("apple")
        else:
            cache.invalidate_tag("a")
        shelf.gate.set()
        await turns()
        assert (cache.hit("apple", 8), cache.hit("banana", 8)) == (None, "yellow")
        assert await cache.get("apple") == "brown"

    with_cache(work)


def test_whoever_comes_too_late_joins_a_renewal() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        shelf.gate.clear()
        shelf.now = 8
        cache.hit("apple", 8)
        await turns()
        shelf.now = 10
        late = asyncio.create_task(cache.get("apple"))
        await turns()
        shelf.gate.set()
        assert await late == "red"
        assert shelf.asked == ["apple", "apple"]

    with_cache(work)


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_expiries_are_spread_and_never_later_than_said(chance: float) -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        end = 10 * (1 - 0.1 * chance)
        assert cache.hit("apple", end - 0.01) == "red"
        assert cache.hit("apple", end) is None

    with_cache(work, chance=chance)


def test_while_the_source_fails_an_old_value_is_given_until_its_hard_expiry() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        shelf.fails = StoreTrouble("away")
        shelf.now = 59
        assert await cache.get("apple") == "red"
        shelf.now = 60
        assert cache.hit("apple", 60) is None
        with pytest.raises(StoreTrouble):
            await cache.get("apple")
        shelf.fails = None
        assert await cache.get("apple") == "red"

    with_cache(work)


def test_a_source_that_failed_is_left_alone_for_a_moment() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        shelf.fails, shelf.now = StoreTrouble("away"), 20
        for _ in range(5):
            assert await cache.get("apple") == "red"
        assert len(shelf.asked) == 2
        shelf.now = 21
        await cache.get("apple")
        await turns()
        assert len(shelf.asked) == 3

    with_cache(work)


def test_a_source_that_failed_is_not_asked_for_what_is_still_fresh() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        for key in ("apple", "banana"):
            await cache.get(key)
        shelf.fails, shelf.now = StoreTrouble("away"), 8
        with pytest.raises(StoreTrouble):
            await cache.get("cherry")
        shelf.asked.clear()
        for now in (8.0, 8.9, 9.0, 9.1):
            shelf.now = now
            assert (cache.hit("apple", now), cache.hit("banana", now)) == ("red", "yellow")
            await turns()
        assert shelf.asked == ["apple banana"]

    with_cache(work)


def test_a_source_that_is_well_again_is_believed_before_what_is_old() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        shelf.fails, shelf.now = StoreTrouble("away"), 20
        with pytest.raises(StoreTrouble):
            await cache.get("cherry")
        shelf.fails, shelf.values["apple"], shelf.now = None, "green", 21
        assert await cache.get("apple") == "green"

    with_cache(work)


def test_nobody_waits_for_a_source_that_failed_as_long_as_there_is_something_to_give() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        await cache.get("banana")
        shelf.fails, shelf.now = StoreTrouble("away"), 20
        assert await cache.get("apple") == "red"
        shelf.gate.clear()
        for now in (20, 21, 22, 30):
            shelf.now = now
            assert list(await asyncio.gather(cache.get("apple"), cache.get("banana"))) == ["red", "yellow"]
        assert shelf.asked == ["apple", "banana", "apple", "apple banana"]
        shelf.fails, shelf.values["apple"], shelf.now = None, "green", 50
        shelf.gate.set()
        await turns()
        # It answers again, so that what is stale is read before it is given.
        shelf.now = 100
        assert await cache.get("apple") == "green"

    with_cache(work)


def test_a_source_that_failed_long_ago_is_asked_before_something_old_is_given() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        shelf.fails, shelf.now = StoreTrouble("away"), 20
        assert await cache.get("apple") == "red"
        shelf.fails, shelf.values["apple"], shelf.now = None, "green", 36
        assert await cache.get("apple") == "green"

    with_cache(work)


def test_a_source_that_does_not_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_LOAD_SECONDS", 0.01)

    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        shelf.gate.clear()
        with pytest.raises(StoreTrouble, match="did not answer"):
            await cache.get("apple")

    with_cache(work)


def test_an_error_that_trying_again_does_not_mend_hides_behind_nothing() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        shelf.fails, shelf.now = NotFound("gone for good"), 20
        with pytest.raises(NotFound):
            await cache.get("apple")

    with_cache(work)


def test_an_invalidated_key_is_read_again() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        await cache.get("avocado")
        shelf.values["apple"] = "brown"
        cache.invalidate("apple")
        assert cache.hit("apple", 0) is None
        assert cache.hit("avocado", 0) == "green"
        assert await cache.get("apple") == "brown"

    with_cache(work)


def test_an_invalidated_value_is_not_given_either_while_the_source_fails() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        cache.invalidate("apple")
        shelf.fails = StoreTrouble("away")
        with pytest.raises(StoreTrouble):
            await cache.get("apple")

    with_cache(work)


def test_a_tag_invalidates_all_that_has_it_and_what_is_unknown_too() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        for key in ("apple", "avocado", "almond", "banana"):
            await cache.get(key)
        cache.invalidate_tag("a")
        cache.invalidate_tag("nobody has this")
        shelf.values["almond"] = "brown"
        assert [cache.hit(key, 0) for key in ("apple", "avocado", "banana")] == [None, None, "yellow"]
        assert await cache.get("almond") == "brown"

    with_cache(work)


def test_values_are_invalidated_by_what_they_are_while_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_LOOKED_AT_AT_ONCE", 1)

    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        for key in ("apple", "avocado", "almond", "banana"):
            await cache.get(key)
        looking = asyncio.create_task(cache.invalidate_where(lambda value: value in {"red", "yellow"}))
        await asyncio.sleep(0)
        assert [cache.hit(key, 0) for key in ("apple", "avocado", "banana")] == [None, "green", "yellow"]
        await looking
        assert [cache.hit(key, 0) for key in ("apple", "avocado", "banana")] == [None, "green", None]

    with_cache(work)


@pytest.mark.parametrize("by", ["key", "tag"])
def test_a_read_that_began_before_an_invalidation_is_thrown_away(by: str) -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        shelf.gate.clear()
        before = asyncio.create_task(cache.get("apple"))
        await turns()
        shelf.values["apple"] = "brown"
        if by == "key":
            cache.invalidate("apple")
        else:
            cache.invalidate_tag("a")
        after = asyncio.create_task(cache.get("apple"))
        await turns()
        shelf.gate.set()
        assert (await before, await after) == ("brown", "brown")
        assert cache.hit("apple", 0) == "brown"
        assert shelf.asked == ["apple", "apple"]

    with_cache(work)


def test_what_changes_faster_than_it_can_be_read_is_told_and_not_guessed() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        async def load(keys: Sequence[str]) -> list[Loaded[str]]:
            cache.invalidate_tag("a")
            return await shelf.load(keys)

        cache._load = load
        with pytest.raises(StoreTrouble, match="changed 5 times"):
            await cache.get("apple")

    with_cache(work)


def test_beyond_its_bound_the_least_recently_used_goes() -> None:
    async def work(cache: MemoryCache[str, str], shelf: Shelf) -> None:
        await cache.get("apple")
        await cache.get("avocado")
        cache.hit("apple", 0)
        await cache.get("banana")
        assert len(cache) == 2
        assert [cache.hit(key, 0) for key in ("apple", "avocado", "banana")] == ["red", None, "yellow"]
        assert set(cache._tagged) == {"a", "b"}

    with_cache(work, most=2)
