"""An event is a fact. It is written in the transaction of its cause, into the outbox, and relayed from there.

It arrives at least once, and in no promised order: what it says about an entity carries that entity's version, so that
its handler can tell whether it is older than what is already known.
"""

from datetime import datetime

import msgspec

from waypost.kernel.ids import new_id


class Event(msgspec.Struct, frozen=True):
    """The envelope. `name` ends in the version of the data's format; `subject` is what the event is about."""

    id: str
    name: str
    subject: str
    occurred_at: datetime
    data: msgspec.Raw


def new_event(name: str, subject: str, occurred_at: datetime, data: msgspec.Struct) -> Event:
    return Event(str(new_id()), name, subject, occurred_at, msgspec.Raw(msgspec.json.encode(data)))
