"""A cache in this process's memory: bounded, the least recently used goes first, one flight to the source a key."""

import asyncio
import random
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Generic

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import StoreTrouble, TransientError
from waypost.scaling.caching.cache import Key, Lifetimes, Load, Loaded, Value

# Answers that were read together do not expire together: each lives up to a tenth less.
_JITTER = 0.1
_LOAD_SECONDS = 5.0
# A source that has just failed is left alone for this long, as far as there is something to give.
_PAUSE_SECONDS = 1.0
_TRIES = 5


class _Entry(Generic[Value]):
    __slots__ = ("hard", "soft", "tags", "value")

    def __init__(self, loaded: Loaded[Value], soft: float, hard: float) -> None:
        self.value, self.tags = loaded.value, loaded.tags
        self.soft, self.hard = soft, hard


class _Flight(Generic[Value]):
    """One question to the source, with what was invalidated since it was asked."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Value | None]
        self.is_void = False
        self.heard: set[str] = set()


class MemoryCache(Generic[Key, Value]):
    """Used by one event loop. At most `most` answers are kept."""

    def __init__(
        self,
        load: Load[Key, Value],
        lifetimes: Lifetimes,
        *,
        most: int,
        clock: Callable[[], float] = monotonic,
        chance: Callable[[], float] = random.random,  # noqa: S311 - nobody gains by guessing it
    ) -> None:
        self._load, self._lifetimes, self._most = load, lifetimes, most
        self._clock, self._chance = clock, chance
        # As quick as compiled caches that can be installed, and it is there already.
        self._entries: OrderedDict[Key, _Entry[Value]] = OrderedDict()
        self._tagged: defaultdict[str, set[Key]] = defaultdict(set)
        self._flights: dict[Key, _Flight[Value]] = {}
        # Also those that nobody should join any more.
        self._flying: set[_Flight[Value]] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def hit(self, key: Key, now: float) -> Value | None:
        entry = self._entries.get(key)
        if entry is None or entry.soft <= now:
            return None
        self._entries.move_to_end(key)
        return entry.value

    async def get(self, key: Key) -> Value | None:
        for _ in range(_TRIES):
            entry = self._entries.get(key)
            if entry is not None and self._clock() < entry.soft:
                self._entries.move_to_end(key)
                return entry.value
            flight = self._flights.get(key) or self._depart(key)
            # Whoever came first may go away; the others still want to know.
            value = await asyncio.shield(flight.task)
            if not flight.is_void:
                return value
        raise StoreTrouble(f"it changed {_TRIES} times while it was read; try again")

    def invalidate(self, key: Key) -> None:
        self._drop(key)
        if flight := self._flights.pop(key, None):
            flight.is_void = True

    def invalidate_tag(self, tag: str) -> None:
        for key in tuple(self._tagged.get(tag, ())):
            self._drop(key)
        for flight in self._flying:
            flight.heard.add(tag)

    def _depart(self, key: Key) -> _Flight[Value]:
        flight = _Flight[Value]()
        flight.task = asyncio.create_task(self._fly(key, flight))
        flight.task.add_done_callback(_look_at_error)
        self._flights[key] = flight
        self._flying.add(flight)
        return flight

    async def _fly(self, key: Key, flight: _Flight[Value]) -> Value | None:
        try:
            loaded = await self._ask(key)
        except TransientError as error:
            return self._stale(key, error)
        finally:
            self._flying.discard(flight)
            if self._flights.get(key) is flight:
                del self._flights[key]
        flight.is_void |= not flight.heard.isdisjoint(loaded.tags)
        if not flight.is_void:
            self._keep(key, loaded)
        return loaded.value

    async def _ask(self, key: Key) -> Loaded[Value]:
        try:
            async with asyncio.timeout(_LOAD_SECONDS):
                return await self._load(key)
        except TimeoutError:
            raise StoreTrouble(f"the store did not answer within {_LOAD_SECONDS:.0f} s; try again") from None

    def _stale(self, key: Key, error: TransientError) -> Value | None:
        entry, now = self._entries.get(key), self._clock()
        if entry is None or entry.hard <= now:
            raise error
        entry.soft = min(now + _PAUSE_SECONDS, entry.hard)
        return entry.value

    def _keep(self, key: Key, loaded: Loaded[Value]) -> None:
        self._drop(key)
        now, shorter = self._clock(), 1.0 - _JITTER * self._chance()
        lives = self._lifetimes
        soft, hard = (lives.unknown, lives.unknown) if loaded.value is None else (lives.fresh, lives.kept)
        self._entries[key] = _Entry(loaded, now + soft * shorter, now + hard * shorter)
        for tag in loaded.tags:
            self._tagged[tag].add(key)
        while len(self._entries) > self._most:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        for tag in entry.tags:
            self._tagged[tag].discard(key)
            if not self._tagged[tag]:
                del self._tagged[tag]


def _look_at_error(task: "asyncio.Task[object]") -> None:
    """Else asyncio complains about an error that nobody waited for."""
    if not task.cancelled():
        task.exception()
