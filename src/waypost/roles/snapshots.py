"""Builds a snapshot of all places in the store."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from waypost.kernel.clock import utc_now
from waypost.places.store import PlaceStore
from waypost.serving.builder import SnapshotBuilder
from waypost.serving.format import Manifest
from waypost.serving.shelf import Shelf
from waypost.settings import Settings

Result = TypeVar("Result")


async def build_snapshot(
    settings: Settings, places: PlaceStore, on_progress: Callable[[int], None] | None = None
) -> Manifest:
    """Published when it is whole; generations beyond the number to keep go afterwards."""
    with SnapshotBuilder(settings.snapshots, progress=on_progress) as builder:
        async for batch in places.scan():
            await asyncio.to_thread(builder.add, batch)
        manifest = await _to_its_end(lambda: builder.publish(utc_now()))
    await asyncio.to_thread(Shelf(settings.snapshots).prune, settings.serving.keep)
    return manifest


async def _to_its_end(work: Callable[[], Result]) -> Result:
    """A thread cannot be broken off. When we are, what it works on must not go away below it."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise
