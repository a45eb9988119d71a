"""Laws of the cache, whatever happens in whatever order: nothing older than an invalidation, one flight, the bound."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.errors import StoreTrouble
from waypost.scaling.caching.cache import Lifetimes, Loaded
from waypost.scaling.caching.memory import MemoryCache

KEYS = ("a1", "a2", "b1", "b2")
MOST = 2


@dataclass(frozen=True)
class Version:
    """A value that knows which key it is of and how often that had changed when it was read."""

    key: str
    number: int


class World:
    """A source whose answers arrive when the test says so, and what must hold at every moment."""

    def __init__(self) -> None:
        self.now = 0.0
        self.numbers = dict.fromkeys(KEYS, 0)
        # The least number that may still be given.
        self.seen = dict.fromkeys(KEYS, 0)
        self.open: list[tuple[Sequence[str], asyncio.Future[None]]] = []
        self.asking: list[tuple[str, asyncio.Task[Version | None]]] = []
        self.voided: Counter[str] = Counter()
        self.cache = MemoryCache[str, Version](
            self.load, Lifetimes(fresh=5, kept=20, unknown=1), most=MOST, clock=lambda: self.now, chance=lambda: 0.5
        )

    async def load(self, keys: Sequence[str]) -> list[Loaded[Version]]:
        versions = [Version(key, self.numbers[key]) for key in keys]
        arrival: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open.append((keys, arrival))
        # One flight a key; another only beside those that an invalidation has voided.
        assert all(self.in_the_air(key) <= 1 + self.voided[key] for key in keys)
        try:
            await arrival
        finally:
            self.open = [each for each in self.open if each[1] is not arrival]
        return [Loaded(each if each.number else None, (each.key[0],)) for each in versions]

    def in_the_air(self, key: str) -> int:
        return sum(key in keys for keys, _ in self.open)

    async def settle(self) -> None:
        for _ in range(8):
            await asyncio.sleep(0)
        for key, task in [each for each in self.asking if each[1].done()]:
            self.asking.remove((key, task))
            if task.exception() is None:
                self.check(key, task.result())
            else:
                assert isinstance(task.exception(), StoreTrouble)
        for key in KEYS:
            if (given_now := self.cache.hit(key, self.now)) is not None:
                self.check(key, given_now)
        assert len(self.cache) <= MOST

    def check(self, key: str, given_now: Version | None) -> None:
        assert given_now is None or given_now.key == key
        assert (given_now.number if given_now else 0) >= self.seen[key]

    def change(self, key: str, *, by_tag: bool) -> None:
        self.numbers[key] += 1
        self.voided[key] += self.in_the_air(key)
        if by_tag:
            self.cache.invalidate_tag(key[0])
        else:
            self.cache.invalidate(key)
        self.seen[key] = self.numbers[key]

    def arrive(self, which: int, *, fails: bool) -> None:
        if self.open:
            arrival = self.open[which % len(self.open)][1]
            if arrival.done():
                return
            if fails:
                arrival.set_exception(StoreTrouble("away"))
            else:
                arrival.set_result(None)


KEY = st.sampled_from(KEYS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), KEY),
        st.tuples(st.just("change"), KEY, st.booleans()),
        st.tuples(st.just("arrive"), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("wait"), st.floats(0, 8)),
    ),
    max_size=40,
)


@given(steps=STEPS)
def test_nothing_older_than_an_invalidation_is_ever_given(steps: list[tuple[object, ...]]) -> None:
    asyncio.run(_live_through(steps))


async def _live_through(steps: list[tuple[object, ...]]) -> None:
    world = World()
    for step in steps:
        match step:
            case "ask", str(key):
                world.asking.append((key, asyncio.create_task(world.cache.get(key))))
            case "change", str(key), bool(by_tag):
                world.change(key, by_tag=by_tag)
            case "arrive", int(which), bool(fails):
                world.arrive(which, fails=fails)
            case "wait", float(seconds):
                world.now += seconds
        await world.settle()
    while world.asking or world.open:
        world.arrive(0, fails=False)
        await world.settle()
    assert not world.cache._flights
    assert not world.cache._flying
