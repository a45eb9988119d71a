"""Visits are dropped when they have been kept long enough, and what was counted of them stays."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from support.visits import visit
from waypost.adapters.errors import StoreAway
from waypost.bootstrap.stores import open_sharing_stores
from waypost.kernel.clock import utc_now
from waypost.kernel.configuration import SettingError
from waypost.settings import load_settings
from waypost.sharing.visits import retention
from waypost.sharing.visits.counting import counting
from waypost.sharing.visits.rebuild import rebuild_visits
from waypost.sharing.visits.retention import forget_old, keep_forgetting
from waypost.sharing.visits.store import Span, VisitStore
from waypost.sharing.visits.visitors import ShownByBrowser

KEPT = timedelta(days=30)


async def kept(store: VisitStore) -> list[str]:
    return [each.id async for batch in store.events("link-1", Span()) for each in batch]


async def test_only_visits_that_are_old_enough_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
    old, young = utc_now() - timedelta(days=31), utc_now() - timedelta(days=29)
    async with open_sharing_stores(load_settings({"data": str(tmp_path)}, environ={})) as stores:
        store = stores.visits
        await store.append([visit(number, at=old if number < 5 else young) for number in range(8)])
        assert await forget_old(store, KEPT) == 5
        assert await forget_old(store, KEPT) == 0
        assert await store.count(["link-1"]) == {"link-1": 8}
        assert await kept(store) == ["visit-5", "visit-6", "visit-7"]


class AwayOnce:
    def __init__(self) -> None:
        self.asked = 0

    async def forget(self, before: datetime, limit: int) -> int:
        self.asked += 1
        if self.asked == 1:
            raise StoreAway("no answer")
        return 3 if self.asked == 2 else 0


async def test_forgetting_outlives_a_store_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_EVERY_SECONDS", 0)
    store = AwayOnce()
    with capture_logs() as logged:
        running = asyncio.create_task(keep_forgetting(cast("VisitStore", store), KEPT))
        async with asyncio.timeout(30):
            while store.asked < 4:  # noqa: ASYNC110 - it is asked in this loop, without anything to wait for
                await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert [entry["event"] for entry in logged] == ["old visits stay for now", "old visits are dropped"]


async def test_a_process_that_counts_ships_what_it_recorded_and_forgets_what_is_old(tmp_path: Path) -> None:
    settings = load_settings({"data": str(tmp_path), "visits.retention": "30d"}, environ={})
    async with open_sharing_stores(settings) as stores:
        await stores.visits.append([visit(number, at=utc_now() - timedelta(days=40)) for number in range(3)])
        async with counting(settings.visits, settings.spool, stores.facts, stores.visits) as counted:
            shown = ShownByBrowser("curl/8.0.1")
            counted.shipper.record(counted.observer.visit("link-1", utc_now(), "203.0.113.7", shown))
            async with asyncio.timeout(30):
                while len(await kept(stores.visits)) > 1:
                    pass
        assert await stores.visits.count(["link-1"]) == {"link-1": 4}
        assert (await stores.visits.totals("link-1", Span())).visitors == 1
    assert list(settings.spool.iterdir()) == []
    async with open_sharing_stores(settings) as stores:
        assert (await rebuild_visits(stores.visits)).visits == 1
        assert await stores.visits.count(["link-1"]) == {"link-1": 4}


@pytest.mark.parametrize("text", ["23h", "soon", "-1d"])
def test_a_retention_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"visits\.retention"):
        load_settings({"visits.retention": text}, environ={})


def test_a_wrong_switch_is_refused() -> None:
    assert load_settings({"visits.fsync": "on"}, environ={}).visits.fsync
    with pytest.raises(SettingError, match="neither on nor off"):
        load_settings({"visits.fsync": "yes"}, environ={})


pytestmark = pytest.mark.anyio
