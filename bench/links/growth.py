"""What links cost as they become more, without HTTP: looking a phrase up in the store, drawing one, making a link."""

import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from typing import Literal, get_args

from bench.links.filling import Filling
from waypost.bootstrap.stores import Stores

Growing = Literal["look-up", "drawing", "creation"]
GROWING: tuple[Growing, ...] = get_args(Growing)
_ROUNDS = 5

# Microseconds, by the number of links.
Growth = dict[int, dict[str, float]]


async def measure_growth(filling: Filling, stores: Stores, times: int) -> dict[Growing, float]:
    """Microseconds; each phrase is looked up once, so that nothing but the store itself can remember it."""
    phrases = [link.phrase for link in filling.sample]
    rounds = [phrases[start : start + times] for start in range(0, _ROUNDS * times, times)]
    looked = [await _mean(stores.links.find, each) for each in rounds if each]
    drawn = [await _mean(lambda _: filling.draw(), range(times)) for _ in range(_ROUNDS)]
    return {"look-up": median(looked), "drawing": median(drawn), "creation": await _create(filling, stores, times)}


async def _mean(ask: Callable[..., Awaitable[object]], asked: Sequence[object]) -> float:
    began = time.perf_counter()
    for each in asked:
        await ask(each)
    return (time.perf_counter() - began) / len(asked) * 1e6


async def _create(filling: Filling, stores: Stores, times: int) -> float:
    """One after the other, the middle one: now and then a database writes a lot that is not this link's."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        link = await filling.new_link()
        await stores.links.add(link, "bench")
        taken.append(time.perf_counter() - began)
    return median(taken) * 1e6
