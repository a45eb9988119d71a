"""What can be set about events."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_retention


@dataclass(frozen=True)
class EventsSettings:
    retention: float | None = setting(
        "events.retention", "7d", "how long events wait in the outbox to be read; for ever when empty", parse_retention
    )
