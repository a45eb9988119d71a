"""The scheduler role: enqueues what is due, and remembers how far it is. Any number of schedulers may run."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import Stores, open_stores
from waypost.importing.pages import PageStore
from waypost.importing.reminding import remind
from waypost.importing.schedules import FullSchedule, WindowsSchedule
from waypost.importing.start import remember_provider
from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import to_text
from waypost.kernel.errors import AskedWrongly, StoreTrouble
from waypost.kernel.tasks import end
from waypost.roles.kit.health_port import health_port
from waypost.roles.kit.loop import Stop
from waypost.roles.kit.upkeep import upkeep
from waypost.roles.schedules import Book, configured
from waypost.roles.serve import store_probe
from waypost.scaling.facts import Facts
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.schedules import Coverage, Schedule, fulfil, next_due, promise, settle
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import SCHEDULE_COVERED, SCHEDULE_ENQUEUED

log = get_logger("scheduler")

OnStart = Callable[[], None]

# A schedule that another process resumed is noticed within this time.
_LONGEST_SECONDS = 30.0
_SHORTEST_SECONDS = 0.01
_TROUBLE_SECONDS = 3.0
_SOME_DAY = datetime(2026, 2, 21, tzinfo=UTC)


class Unschedulable(AskedWrongly):
    """A source plans in a way that needs a look at what there is, as for files."""

    slug = "unschedulable"


class Scheduler:
    """`clock` is the store's: schedulers whose own clocks differ must not take an hour for over that is not.

    `pages` knows which shards are done, so that what a job store forgets is enqueued again.
    """

    def __init__(
        self,
        schedules: Mapping[str, Schedule],
        facts: Facts,
        jobs: JobStore,
        clock: Callable[[], Awaitable[datetime]],
        rng: random.Random,
        pages: PageStore | None = None,
    ) -> None:
        self._schedules = schedules
        self._book = Book(facts)
        self._jobs = jobs
        self._clock = clock
        self._rng = rng
        self._pages = pages

    async def run(self) -> None:
        """Until cancelled. It may be broken off anywhere: what it promised, the next one keeps."""
        while True:
            try:
                pause = await self.look()
                log.debug("looked", again_in=pause)
            except StoreTrouble as trouble:
                log.warning("the store is in trouble", error=trouble.slug, message=str(trouble))
                pause = full_jitter(1, base=_TROUBLE_SECONDS, cap=_TROUBLE_SECONDS, rng=self._rng)
            await asyncio.sleep(pause)

    async def look(self) -> float:
        """Enqueue whatever is due; returns after how many seconds to look again."""
        now = await self._clock()
        for name, schedule in self._schedules.items():
            await self._remind(name, schedule)
        moments = [
            next_due(schedule, now, await self._bring_up_to_date(name, schedule, now))
            for name, schedule in self._schedules.items()
        ]
        waits = [(moment - now).total_seconds() for moment in moments if moment]
        return max(_SHORTEST_SECONDS, min([_LONGEST_SECONDS, *waits]))

    async def _bring_up_to_date(self, name: str, schedule: Schedule, now: datetime) -> Coverage:
        """Promise, enqueue, fulfil; from the start again when somebody else has changed what is remembered."""
        while True:
            entry = await self._book.read(name)
            promised = promise(schedule, now, entry.coverage)
            if promised.paused or not promised.promised_until:
                _show(name, promised)
                return promised
            if promised == entry.coverage:
                await self._keep(name, schedule, promised)
                awaiting = self._pages is not None and _imports(schedule)
                await self._book.change(name, entry, fulfil(promised, awaiting=awaiting))
            else:
                await self._book.change(name, entry, promised)

    async def _remind(self, name: str, schedule: Schedule) -> None:
        """What was enqueued and is not done yet has a job, also after the job store has forgotten it."""
        entry = await self._book.read(name) if self._pages and _imports(schedule) else None
        if entry is None or entry.coverage.paused or not entry.coverage.awaited:
            return
        assert self._pages
        began = {str(key): start for start, end in entry.coverage.stretches for key in schedule.keys(start, end)}
        left = await remind(self._jobs, self._pages, began, group=_group(name))
        settled = settle(entry.coverage, {began[shard] for shard in left})
        if settled != entry.coverage:
            await self._book.change(name, entry, settled)

    async def _keep(self, name: str, schedule: Schedule, promised: Coverage) -> None:
        assert promised.covered_until
        assert promised.promised_until
        keys = schedule.keys(promised.covered_until, promised.promised_until)
        # In a group, so that nobody who cancels an import cancels what the schedule wants too.
        new = await self._jobs.enqueue([NewJob(str(key)) for key in keys], group=_group(name))
        SCHEDULE_ENQUEUED.labels(name).inc(new)
        if new:  # nothing is new where another scheduler was quicker
            log.info("enqueued", schedule=name, jobs=new, covered_until=to_text(promised.promised_until))


async def run_scheduler(settings: Settings, stop: Stop, on_start: OnStart) -> None:
    schedules = configured(settings)
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings))
        await stack.enter_async_context(health_port(settings, {"store": store_probe(stores)}))
        await _check_sources(settings, stores)
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        scheduler = Scheduler(schedules, stores.facts, stores.jobs, stores.pages.now, rng, stores.pages)
        await stack.enter_async_context(upkeep(settings, stores))
        running = asyncio.create_task(scheduler.run())
        stopping = asyncio.create_task(stop.wait())
        on_start()
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if running.done():
            running.result()
        await end(running)


async def _check_sources(settings: Settings, stores: Stores) -> None:
    """Each source is asked to plan once, so that what it cannot do is told at the start and not in the night."""
    for schedule in settings.schedules.values():
        if isinstance(schedule, WindowsSchedule | FullSchedule):
            async with open_source(schedule.source, settings) as source:
                begin, over = _SOME_DAY, _SOME_DAY + timedelta(hours=1)
                if source.plan(schedule.asks(begin, over), over.date()) != schedule.keys(begin, over):
                    raise Unschedulable(
                        f"the source {source.name} has shards of its own, which a schedule cannot name",
                        next_step=f"run it by cron or a timer: waypost import run --source {source.name}",
                    )
                await remember_provider(stores.facts, source)


def _imports(schedule: Schedule) -> bool:
    """The places know nothing of chores; one that was forgotten comes again when it is next due."""
    return isinstance(schedule, WindowsSchedule | FullSchedule)


def _group(name: str) -> str:
    return f"schedule:{name}"


def _show(name: str, coverage: Coverage) -> None:
    if coverage.covered_until:
        SCHEDULE_COVERED.labels(name).set(coverage.covered_until.timestamp())
