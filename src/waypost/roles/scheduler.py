"""The scheduler role: enqueues what is due until it is asked to stop. Any number of schedulers may run.

In order: the stores are opened, the sources of all schedules are asked to plan (importing/check_schedules.py), and the
scheduler looks whenever something is due (scaling/schedules/scheduler.py).
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import open_stores
from waypost.importing.check_schedules import check_schedules, refuse_without_schedules
from waypost.importing.reminding import remind
from waypost.kernel.stopping import Stop
from waypost.kernel.tasks import background, end
from waypost.roles.kit.background_upkeep import upkeep
from waypost.roles.kit.health_port import health_port
from waypost.scaling.schedules.coverage_book import CoverageBook
from waypost.scaling.schedules.schedule_watch import ScheduleWatch
from waypost.scaling.schedules.scheduler import Scheduler
from waypost.settings import Settings

OnStart = Callable[[], None]


async def run_scheduler(settings: Settings, stop: Stop, on_start: OnStart) -> None:
    schedules = settings.schedules
    refuse_without_schedules(schedules)
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings))
        await stack.enter_async_context(health_port(settings, stores.facts, stores.jobs))
        await check_schedules(schedules, partial(open_source, settings=settings), stores.facts)
        reminding = partial(remind, stores.jobs, stores.pages)
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        scheduler = Scheduler(schedules, CoverageBook(stores.facts), stores.jobs, stores.pages.now, rng, reminding)
        await stack.enter_async_context(upkeep(settings, stores))
        watch = ScheduleWatch(schedules, CoverageBook(stores.facts), stores.jobs, stores.pages.now)
        await stack.enter_async_context(background(watch.keep_looking()))
        running = asyncio.create_task(scheduler.run())
        stopping = asyncio.create_task(stop.wait())
        on_start()
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if running.done():
            running.result()
        await end(running)
