"""Where events wait, written in the transactions of their causes, until they have been relayed."""

from collections.abc import Collection, Sequence
from typing import Protocol

from waypost.scaling.events.event import Event


class Outbox(Protocol):
    async def waiting(self, limit: int) -> Sequence[Event]:
        """Returns the oldest events that have not been relayed."""
        ...

    async def count(self) -> int: ...

    async def forget_older(self, *, older_than: float, limit: int) -> int:
        """Forgets some events older than `older_than` seconds, relayed or not, oldest first; returns how many."""
        ...

    async def forget(self, ids: Collection[str]) -> int:
        """Forgets events that have been relayed; returns how many there were."""
        ...
