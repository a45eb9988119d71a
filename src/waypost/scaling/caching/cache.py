"""What a cache promises. Today there is one, in memory; a shared one may stand behind it, and it learns of changes made
elsewhere through `invalidate` and `invalidate_tag`.
"""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Key_contra = TypeVar("Key_contra", bound=Hashable, contravariant=True)
Value_co = TypeVar("Value_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Loaded(Generic[Value]):
    """What the source has: None is an answer too. Each of its tags can invalidate it, together with others."""

    value: Value | None
    tags: tuple[str, ...] = ()


# Takes some keys, each once, and returns one answer for each, in their order.
Load = Callable[[Sequence[Key]], Awaitable[Sequence[Loaded[Value]]]]


@dataclass(frozen=True)
class Lifetimes:
    """How long answers are good, in seconds.

    Past `fresh`, an answer is given only while the source fails, and never past `kept`. `unknown` is for answers that
    are None. An answer that is asked for shortly before it is stale is read again, and no caller waits for that.
    """

    fresh: float
    kept: float
    unknown: float


class Cache(Protocol[Key_contra, Value_co]):
    """A cache never gives a value that was read before an invalidation it has seen."""

    def hit(self, key: Key_contra, now: float) -> Value_co | None:
        """Returns what is known and fresh at this time of `kernel.clock.monotonic`, without waiting for anything."""

    async def get(self, key: Key_contra) -> Value_co | None:
        """Returns what is known, else what the source has; later callers for the same key wait for the same answer.

        Raises the source's error when there is nothing left to give.
        """

    def invalidate(self, key: Key_contra) -> None:
        """Forget this key, and whatever is being read for it right now."""

    def invalidate_tag(self, tag: str) -> None:
        """Forget all that has this tag, and whatever is being read and turns out to have it."""

    async def invalidate_where(self, is_meant: Callable[[Value_co], bool]) -> None:
        """Forget every value of which this is true; other tasks run meanwhile. What is being read stays."""
