"""A snapshot build that is broken off while its thread publishes: the thread comes to its end with all it needs."""

import asyncio
import threading
from datetime import datetime
from pathlib import Path

import pytest

from support.places import page, writing
from support.stores import open_backend
from waypost.roles.kit.snapshot_build import build_snapshot
from waypost.scaling.jobs.job import NewJob
from waypost.serving.building.builder import SnapshotBuilder
from waypost.serving.format import Manifest
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import Shelf

pytestmark = pytest.mark.anyio

SHARD = "ocm/country:DE/full:2026-02-21"


async def test_what_it_publishes_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = asyncio.Event(), threading.Event()
    loop, publish = asyncio.get_running_loop(), SnapshotBuilder.publish

    def slowly(builder: SnapshotBuilder, now: datetime) -> Manifest:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(timeout=30)
        return publish(builder, now)

    monkeypatch.setattr(SnapshotBuilder, "publish", slowly)
    async with open_backend("sqlite", tmp_path) as backend:
        await backend.stores.jobs.enqueue([NewJob(SHARD)])
        [lease] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
        await backend.stores.pages.commit(lease, page(1, 2, last=True), writing())
        building = asyncio.create_task(build_snapshot(backend.settings, backend.stores))
        await begun.wait()
        building.cancel()
        loop.call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await building
    current = Shelf(backend.settings.snapshots).current()
    assert current
    assert Generation.open(current).manifest.count == 2
