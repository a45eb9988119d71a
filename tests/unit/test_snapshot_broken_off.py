"""A snapshot build that is broken off while its thread publishes: the thread comes to its end with all it needs."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

from support.places import place
from waypost.places.place import Place
from waypost.places.store import PlaceStore
from waypost.roles.snapshots import build_snapshot
from waypost.serving.builder import SnapshotBuilder
from waypost.serving.format import Manifest
from waypost.serving.reader import Generation
from waypost.serving.shelf import Shelf
from waypost.settings import load_settings

pytestmark = pytest.mark.anyio


class Places:
    async def scan(self) -> AsyncIterator[Sequence[Place]]:
        yield [place(1), place(2)]


async def test_what_it_publishes_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = asyncio.Event(), threading.Event()
    loop, publish = asyncio.get_running_loop(), SnapshotBuilder.publish

    def slowly(builder: SnapshotBuilder, now: datetime) -> Manifest:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(timeout=30)
        return publish(builder, now)

    monkeypatch.setattr(SnapshotBuilder, "publish", slowly)
    settings = load_settings({"data": str(tmp_path)}, environ={})
    building = asyncio.create_task(build_snapshot(settings, cast("PlaceStore", Places())))
    await begun.wait()
    building.cancel()
    loop.call_soon(go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await building
    current = Shelf(settings.snapshots).current()
    assert current
    assert Generation.open(current).manifest.count == 2
