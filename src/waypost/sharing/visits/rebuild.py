"""Counts all visits again, from the visits themselves."""

from collections.abc import Callable

import msgspec

from waypost.kernel.clock import monotonic
from waypost.sharing.visits.store import VisitStore


class Rebuilt(msgspec.Struct, frozen=True):
    """How many visits were counted again, and how long it took."""

    visits: int
    seconds: float


async def rebuild_visits(store: VisitStore, on_progress: Callable[[int], None] = lambda _counted: None) -> Rebuilt:
    """Counts all visits again. Safe while other processes count, and safe to interrupt and run again."""
    started = monotonic()
    visits = await store.rebuild(on_progress)
    return Rebuilt(visits, round(monotonic() - started, 3))
