"""What a cache promises. Today there is one, in memory; a shared one may stand behind it, and news of others' changes
reach it through `invalidate` and `invalidate_tag`.
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
    """What the source has: None is an answer too. By each of the tags it can be invalidated, with others."""

    value: Value | None
    tags: tuple[str, ...] = ()


# Some keys, each once; one answer for each, in their order.
Load = Callable[[Sequence[Key]], Awaitable[Sequence[Loaded[Value]]]]


@dataclass(frozen=True)
class Lifetimes:
    """How long answers are good, in seconds.

    Past `fresh` one is given only while the source fails, and never past `kept`. `unknown` is for those that are None.
    What is asked for when its freshness is about to end is read again before that, and nobody waits for it.
    """

    fresh: float
    kept: float
    unknown: float


class Cache(Protocol[Key_contra, Value_co]):
    """It never gives a value that was read before an invalidation it has seen."""

    def hit(self, key: Key_contra, now: float) -> Value_co | None:
        """What is known and fresh at this moment of `kernel.clock.monotonic`, without waiting for anything."""
        ...

    async def get(self, key: Key_contra) -> Value_co | None:
        """What is known, else what the source has; whoever asks for the same key meanwhile waits for the same answer.

        Raises what the source raised, when there is nothing left to give.
        """
        ...

    def invalidate(self, key: Key_contra) -> None:
        """Forget this key, and whatever is being read for it right now."""
        ...

    def invalidate_tag(self, tag: str) -> None:
        """Forget all that has this tag, and whatever is being read and turns out to have it."""
        ...
