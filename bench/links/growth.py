"""What links cost as they become more, without HTTP: looking a phrase up in the store, drawing one, making links."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from statistics import median

from bench.links.filling import Filling
from waypost.bootstrap.stores import SharingStores

ROUNDS = 3

# Microseconds by what is done, and where, by the number of links.
Growth = dict[int, dict[str, float]]
# Stores of one backend, by the number of their links.
Growing = Mapping[int, tuple[Filling, SharingStores]]


class Rounds:
    """In turns: a machine that becomes slower does so for few and for many."""

    def __init__(self) -> None:
        self._found: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    async def measure(self, backend: str, growing: Growing, times: int) -> None:
        for number in range(ROUNDS):
            for count, (filling, stores) in growing.items():
                await filling.warm()
                async for kind, micros in _measure(filling, stores, slice(number * times, (number + 1) * times)):
                    # Drawing asks the store only now and then for numbers.
                    self._found[count]["drawing" if kind == "drawing" else f"{kind}, {backend}"].append(micros)

    @property
    def middle(self) -> Growth:
        return {count: {kind: median(each) for kind, each in kinds.items()} for count, kinds in self._found.items()}


async def _measure(filling: Filling, stores: SharingStores, part: slice) -> AsyncIterator[tuple[str, float]]:
    """Each phrase is looked up once, so that nothing but the store itself can remember it."""
    times = part.stop - part.start
    if phrases := [link.phrase for link in filling.sample[part]]:
        yield "look-up", await _mean(stores.links.find, phrases)
    yield "drawing", await _mean(lambda _: filling.draw(), range(times))
    yield "creation", await _create(filling, stores, times)
    yield "creation in bulk", await _create_many(filling, stores, times)


async def _mean(ask: Callable[..., Awaitable[object]], asked: Sequence[object]) -> float:
    began = time.perf_counter()
    for each in asked:
        await ask(each)
    return (time.perf_counter() - began) / len(asked) * 1e6


async def _create(filling: Filling, stores: SharingStores, times: int) -> float:
    """One after the other, the middle one: now and then a database writes a lot that is not this link's."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        link = await filling.new_link()
        await stores.links.add(link, "bench")
        taken.append(time.perf_counter() - began)
    return median(taken) * 1e6


async def _create_many(filling: Filling, stores: SharingStores, count: int) -> float:
    """All in one transaction."""
    began = time.perf_counter()
    links = [await filling.new_link() for _ in range(count)]
    await stores.links.add_many(links, "bench", atomic=False)
    return (time.perf_counter() - began) / count * 1e6
