"""A cache in this process's memory: bounded, the least recently used goes first, one flight to the source per key.

What is asked for again and again is renewed before it is stale, many at a time, and no caller waits for that.
"""

import asyncio
import math
import random
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Generic

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import StoreTrouble, TransientError
from waypost.scaling.caching.cache import Key, Lifetimes, Load, Loaded, Value

# Answers that were read together do not expire together: each lives up to a tenth less.
_JITTER = 0.1
_LOAD_SECONDS = 5.0
# A source that has just failed is left alone for this long, as long as there is an old answer to give.
_PAUSE_SECONDS = 1.0
# After this long it may have recovered: longer than a pause and a question that is not answered.
_FAILED_SECONDS = 15.0
# Until then, it is asked before an old answer is given, and this is how long it has to reply.
_PATIENCE_SECONDS = 0.05
_TRIES = 5
# An answer that is asked for in this last part of its freshness is renewed.
_LAST_PART = 0.3
# Taking in more at once would block the event loop for longer than a millisecond or two.
_RENEWED_AT_ONCE = 50
_LOOKED_AT_AT_ONCE = 50


class _Entry(Generic[Value]):
    """An answer: renewed when asked for from `due` on, stale from `soft` on, not to be given from `hard` on."""

    __slots__ = ("due", "hard", "soft", "tags", "value")

    def __init__(self, loaded: Loaded[Value], due: float, soft: float, hard: float) -> None:
        self.value, self.tags = loaded.value, loaded.tags
        self.due, self.soft, self.hard = due, soft, hard


class _Flight(Generic[Key, Value]):
    """One question to the source, with the keys and tags that were invalidated since it was asked."""

    def __init__(self) -> None:
        self.task: asyncio.Task[dict[Key, Value | None]]
        self.void: set[Key] = set()
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
        chance: Callable[[], float] = random.random,  # noqa: S311 - there is nothing to gain by guessing it
    ) -> None:
        self._load, self._lifetimes, self._most = load, lifetimes, most
        self._clock, self._chance = clock, chance
        # As quick as the compiled caches that could be installed, and already there.
        self._entries: OrderedDict[Key, _Entry[Value]] = OrderedDict()
        self._tagged: defaultdict[str, set[Key]] = defaultdict(set)
        self._flights: dict[Key, _Flight[Key, Value]] = {}
        # Including those that no caller should join any more.
        self._flying: set[_Flight[Key, Value]] = set()
        # When the source failed, if it has not answered since.
        self._failed_at = -math.inf
        # Each once, in the order in which they were asked for.
        self._due: dict[Key, None] = {}
        self._renewing: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def hit(self, key: Key, now: float) -> Value | None:
        entry = self._entries.get(key)
        if entry is None or entry.soft <= now:
            return None
        if entry.due <= now and now - self._failed_at >= _PAUSE_SECONDS:
            self._renew(key, entry)
        self._entries.move_to_end(key)
        return entry.value

    async def get(self, key: Key) -> Value | None:
        for _ in range(_TRIES):
            entry, now = self._entries.get(key), self._clock()
            if entry is not None and now < entry.soft:
                return self.hit(key, now)
            if entry is not None and now < entry.hard and now - self._failed_at < _FAILED_SECONDS:
                await self._try_again(key, entry, now)
                if self._entries.get(key) is entry:
                    return self._stale(entry)
                continue
            flight = self._flights.get(key) or self._depart([key])
            try:
                # The first caller may be cancelled; the others still want the answer.
                found = await asyncio.shield(flight.task)
            except TransientError:
                entry = self._entries.get(key)
                if entry is None or entry.hard <= self._clock():
                    raise
                return self._stale(entry)
            if key not in flight.void:
                return found[key]
        raise StoreTrouble(f"it changed {_TRIES} times while it was read; try again")

    def invalidate(self, key: Key) -> None:
        self._drop(key)
        if flight := self._flights.pop(key, None):
            flight.void.add(key)

    def invalidate_tag(self, tag: str) -> None:
        for key in tuple(self._tagged.get(tag, ())):
            self._drop(key)
        for flight in self._flying:
            flight.heard.add(tag)

    async def invalidate_where(self, is_meant: Callable[[Value], bool]) -> None:
        for number, (key, entry) in enumerate(tuple(self._entries.items()), 1):
            # One that was read again meanwhile is another entry.
            if entry.value is not None and self._entries.get(key) is entry and is_meant(entry.value):
                self.invalidate(key)
            if number % _LOOKED_AT_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _try_again(self, key: Key, entry: _Entry[Value], now: float) -> None:
        """Asks a source that failed: one that has recovered answers in time, and one that hangs holds nobody up."""
        if now - self._failed_at >= _PAUSE_SECONDS:
            await asyncio.wait({self._renew(key, entry)}, timeout=_PATIENCE_SECONDS)

    def _renew(self, key: Key, entry: _Entry[Value]) -> "asyncio.Task[None]":
        # Once: if it fails, the next caller after the answer is stale asks again.
        entry.due = entry.soft
        self._due[key] = None
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_all())
            self._renewing.add_done_callback(_look_at_error)
        return self._renewing

    async def _renew_all(self) -> None:
        try:
            while self._due:
                some = tuple(islice(self._due, _RENEWED_AT_ONCE))
                for key in some:
                    del self._due[key]
                if keys := [key for key in some if key in self._entries and key not in self._flights]:
                    await self._depart(keys).task
        finally:
            self._due.clear()
            self._renewing = None

    def _depart(self, keys: Sequence[Key]) -> _Flight[Key, Value]:
        flight = _Flight[Key, Value]()
        flight.task = asyncio.create_task(self._fly(keys, flight))
        flight.task.add_done_callback(_look_at_error)
        self._flights.update(dict.fromkeys(keys, flight))
        self._flying.add(flight)
        return flight

    async def _fly(self, keys: Sequence[Key], flight: _Flight[Key, Value]) -> dict[Key, Value | None]:
        try:
            answers = dict(zip(keys, await self._ask(keys), strict=True))
            self._failed_at = -math.inf
        except TransientError:
            self._failed_at = self._clock()
            raise
        finally:
            self._flying.discard(flight)
            for key in keys:
                if self._flights.get(key) is flight:
                    del self._flights[key]
        for key, loaded in answers.items():
            if not flight.heard.isdisjoint(loaded.tags):
                flight.void.add(key)
            if key not in flight.void:
                self._keep(key, loaded)
        return {key: loaded.value for key, loaded in answers.items()}

    async def _ask(self, keys: Sequence[Key]) -> Sequence[Loaded[Value]]:
        try:
            async with asyncio.timeout(_LOAD_SECONDS):
                return await self._load(keys)
        except TimeoutError:
            raise StoreTrouble(f"the store did not answer within {_LOAD_SECONDS:.0f} s; try again") from None

    def _stale(self, entry: _Entry[Value]) -> Value | None:
        entry.soft = entry.due = min(self._clock() + _PAUSE_SECONDS, entry.hard)
        return entry.value

    def _keep(self, key: Key, loaded: Loaded[Value]) -> None:
        self._drop(key)
        now, shorter = self._clock(), 1.0 - _JITTER * self._chance()
        lives = self._lifetimes
        soft, hard = (lives.unknown, lives.unknown) if loaded.value is None else (lives.fresh, lives.kept)
        # It is not worth renewing the answer that something does not exist.
        due = soft if loaded.value is None else soft * (1.0 - _LAST_PART)
        self._entries[key] = _Entry(loaded, now + due * shorter, now + soft * shorter, now + hard * shorter)
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
    """Looks at the error, or asyncio would complain that it was never retrieved."""
    if not task.cancelled():
        task.exception()
