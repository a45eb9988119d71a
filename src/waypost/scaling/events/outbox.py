"""Where events wait, written in the transactions of their causes, until they have been relayed."""

from collections.abc import Collection, Sequence
from typing import Protocol

from waypost.scaling.events.event import Event


class Outbox(Protocol):
    async def waiting(self, limit: int) -> Sequence[Event]:
        """The oldest of those that have not been relayed."""
        ...

    async def count(self) -> int: ...

    async def forget_older(self, *, older_than: float, limit: int) -> int:
        """Some of those that happened so many seconds ago, relayed or not, the oldest first; returns how many."""
        ...

    async def forget(self, ids: Collection[str]) -> int:
        """They have been relayed; returns how many there were."""
        ...
