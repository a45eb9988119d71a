"""Counts all visits again, from the visits themselves."""

from collections.abc import Callable

import msgspec

from waypost.kernel.clock import monotonic
from waypost.sharing.visits.store import VisitStore


class Rebuilt(msgspec.Struct, frozen=True):
    """All visits, counted again."""

    visits: int
    seconds: float


async def rebuild_visits(store: VisitStore, on_progress: Callable[[int], None] = lambda _counted: None) -> Rebuilt:
    """Safe beside processes that count, and safe to break off and run again."""
    started = monotonic()
    visits = await store.rebuild(on_progress)
    return Rebuilt(visits, round(monotonic() - started, 3))
