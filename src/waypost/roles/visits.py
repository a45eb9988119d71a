"""Counting visits: what a process that redirects needs for it, and counting all of them again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from waypost.bootstrap.stores import Stores, open_stores, refuse_without_links
from waypost.bootstrap.visits import open_countries
from waypost.kernel.clock import monotonic, utc_now
from waypost.kernel.tasks import end
from waypost.settings import Settings
from waypost.sharing.visits.day_keys import DayKeys
from waypost.sharing.visits.retention import keep_forgetting
from waypost.sharing.visits.shipper import Shipper
from waypost.sharing.visits.spool import Spool
from waypost.sharing.visits.visitors import Observer


class Rebuilt(msgspec.Struct, frozen=True):
    """All visits, counted again."""

    visits: int
    seconds: float


@dataclass(frozen=True)
class Counting:
    """On the redirect path, `shipper.record(observer.visit(…))` before the answer goes out."""

    observer: Observer
    shipper: Shipper


@asynccontextmanager
async def counting(settings: Settings, stores: Stores) -> AsyncIterator[Counting]:
    """Visits that are still in the spool at the end are shipped before it closes."""
    countries = open_countries(settings.visits.countries)
    keys = DayKeys(stores.facts)
    await keys.renew(utc_now().date())
    spool = Spool(settings.spool, most_bytes=settings.visits.spool_max, synced=settings.visits.fsync)
    shipper = Shipper(spool, stores.visits)
    chores = [shipper.run(), keys.keep_renewing()]
    if settings.visits.retention:
        chores.append(keep_forgetting(stores.visits, settings.visits.retention))
    running = [asyncio.create_task(chore) for chore in chores]
    try:
        yield Counting(Observer(keys, countries), shipper)
    finally:
        await end(*running)
        await shipper.close()


async def rebuild_visits(settings: Settings, on_progress: Callable[[int], None] = lambda _counted: None) -> Rebuilt:
    """`waypost link rebuild`: safe beside processes that count, and safe to break off and run again."""
    refuse_without_links(settings)
    started = monotonic()
    async with open_stores(settings, must_exist=True) as stores:
        visits = await stores.visits.rebuild(on_progress)
    return Rebuilt(visits, round(monotonic() - started, 3))
