"""An event is a fact. It is written in the transaction of its cause, into the outbox, and relayed from there.

It arrives at least once, and in no promised order: what it says about an entity carries that entity's version, so that
its handler can tell whether it is older than what is already known.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import msgspec

from waypost.kernel.configuration import setting
from waypost.kernel.ids import new_id
from waypost.kernel.quantities import parse_retention


class Event(msgspec.Struct, frozen=True):
    """The envelope. `name` ends in the version of the data's format; `subject` is what the event is about."""

    id: str
    name: str
    subject: str
    occurred_at: datetime
    data: msgspec.Raw


def new_event(name: str, subject: str, occurred_at: datetime, data: msgspec.Struct) -> Event:
    return Event(str(new_id()), name, subject, occurred_at, msgspec.Raw(msgspec.json.encode(data)))


class Outbox(Protocol):
    async def waiting(self, limit: int) -> Sequence[Event]:
        """Returns the oldest events that have not been relayed."""

    async def count(self) -> int: ...

    async def forget_older(self, *, older_than: float, limit: int) -> int:
        """Forgets some events older than `older_than` seconds, relayed or not, oldest first; returns how many."""

    async def forget(self, ids: Collection[str]) -> int:
        """Forgets events that have been relayed; returns how many there were."""


@dataclass(frozen=True)
class EventsSettings:
    retention: float | None = setting(
        "events.retention", "7d", "how long events wait in the outbox to be read; for ever when empty", parse_retention
    )
