"""Builds a snapshot of all places in the store."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from waypost.bootstrap import Stores
from waypost.importing.licences import licences_of
from waypost.kernel.clock import utc_now
from waypost.serving.builder import SnapshotBuilder
from waypost.serving.format import Manifest
from waypost.serving.shelf import Shelf
from waypost.settings import Settings

Result = TypeVar("Result")


async def build_snapshot(
    settings: Settings, stores: Stores, on_progress: Callable[[int], None] | None = None
) -> Manifest:
    """Published when it is whole; generations beyond the number to keep go afterwards."""
    attribution = {name: licence.sentence for name, licence in (await licences_of(stores.facts)).items()}
    with SnapshotBuilder(settings.snapshots, attribution=attribution, progress=on_progress) as builder:
        async for batch in stores.places.scan():
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
