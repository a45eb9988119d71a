"""What happened to places: one event for each page that changed any."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from waypost.scaling.event_outbox import Event, new_event

PLACES_CHANGED = "places.changed.v1"


class Versioned(msgspec.Struct, frozen=True):
    """A place's external id and version; each change to a place makes the next version."""

    external_id: str
    version: int


class PlacesChanged(msgspec.Struct, frozen=True):
    source: str
    shard: str
    added: Sequence[Versioned]
    changed: Sequence[Versioned]
    removed: Sequence[Versioned]

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.changed or self.removed)


def places_changed(changes: PlacesChanged, at: datetime) -> Event:
    return new_event(PLACES_CHANGED, changes.source, at, changes)
