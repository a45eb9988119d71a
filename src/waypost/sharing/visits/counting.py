"""Counts visits in a process that redirects: each is spooled, shipped to the store, and dropped when it is old."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from waypost.kernel.clock import utc_now
from waypost.kernel.tasks import end
from waypost.scaling.fact_store import Facts
from waypost.sharing.visits.day_keys import DayKeys
from waypost.sharing.visits.retention import keep_forgetting
from waypost.sharing.visits.settings import VisitsSettings
from waypost.sharing.visits.shipper import Shipper
from waypost.sharing.visits.spool import Spool
from waypost.sharing.visits.store import VisitStore
from waypost.sharing.visits.visitors import Countries, Observer


@dataclass(frozen=True)
class Counting:
    """On the redirect path, call `shipper.record(observer.visit(…))` before the answer goes out."""

    observer: Observer
    shipper: Shipper


@asynccontextmanager
async def counting(
    settings: VisitsSettings, folder: Path, facts: Facts, visits: VisitStore, countries: Countries | None = None
) -> AsyncIterator[Counting]:
    """Runs what counts visits. At the end, visits still in the spool in `folder` are shipped before it closes."""
    keys = DayKeys(facts)
    await keys.renew(utc_now().date())
    shipper = Shipper(Spool(folder, most_bytes=settings.spool_max, synced=settings.fsync), visits)
    chores = [shipper.run(), keys.keep_renewing()]
    if settings.retention:
        chores.append(keep_forgetting(visits, settings.retention))
    running = [asyncio.create_task(chore) for chore in chores]
    try:
        yield Counting(Observer(keys, countries), shipper)
    finally:
        await end(*running)
        await shipper.close()
