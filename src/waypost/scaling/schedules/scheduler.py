"""The scheduler: enqueues what is due, and writes down how far it has come. Any number of them may run at once."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import to_text
from waypost.kernel.errors import StoreTrouble
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.schedules.coverage_book import CoverageBook, group_of
from waypost.scaling.schedules.schedule import Coverage, Schedule, fulfil, next_due, promise, settle
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import SCHEDULE_COVERED, SCHEDULE_ENQUEUED

log = get_logger("scheduler")

# A schedule that another process resumed is noticed within this time.
_LONGEST_SECONDS = 30.0
_SHORTEST_SECONDS = 0.01
_TROUBLE_SECONDS = 3.0


class Remind(Protocol):
    def __call__(self, shards: Collection[str], *, group: str) -> Awaitable[Collection[str]]:
        """Makes sure that there is a job for what is left of these shards; returns those that are not done."""


@dataclass(frozen=True)
class Scheduler:
    """`clock` is the store's: schedulers whose own clocks differ must not believe that an hour is over too early.

    With `remind`, what the job store forgets of awaited schedules is enqueued again.
    """

    schedules: Mapping[str, Schedule]
    book: CoverageBook
    jobs: JobStore
    clock: Callable[[], Awaitable[datetime]]
    rng: random.Random
    remind: Remind | None = None

    async def run(self) -> None:
        """Runs until cancelled. It may be broken off anywhere: the next scheduler keeps what it promised."""
        while True:
            try:
                pause = await self.look()
                log.debug("looked", again_in=pause)
            except StoreTrouble as trouble:
                log.warning("the store is in trouble", error=trouble.slug, message=str(trouble))
                pause = full_jitter(1, base=_TROUBLE_SECONDS, cap=_TROUBLE_SECONDS, rng=self.rng)
            await asyncio.sleep(pause)

    async def look(self) -> float:
        """Enqueues whatever is due; returns after how many seconds to look again."""
        now = await self.clock()
        for name, schedule in self.schedules.items():
            await self._look_after(name, schedule)
        moments = [
            next_due(schedule, now, await self._bring_up_to_date(name, schedule, now))
            for name, schedule in self.schedules.items()
        ]
        waits = [(moment - now).total_seconds() for moment in moments if moment]
        return max(_SHORTEST_SECONDS, min([_LONGEST_SECONDS, *waits]))

    async def _bring_up_to_date(self, name: str, schedule: Schedule, now: datetime) -> Coverage:
        """Promise, enqueue, fulfil; starts again when another process has changed what is remembered."""
        while True:
            entry = await self.book.read(name)
            promised = promise(schedule, now, entry.coverage)
            if promised.paused or not promised.promised_until:
                _show(name, promised)
                return promised
            if promised == entry.coverage:
                await self._keep(name, schedule, promised)
                awaiting = self.remind is not None and schedule.is_awaited
                await self.book.change(name, entry, fulfil(promised, awaiting=awaiting))
            else:
                await self.book.change(name, entry, promised)

    async def _look_after(self, name: str, schedule: Schedule) -> None:
        """Makes sure that what was enqueued and is not done has a job, even after the job store has forgotten it."""
        if self.remind is None or not schedule.is_awaited:
            return
        entry = await self.book.read(name)
        if entry.coverage.paused or not entry.coverage.awaited:
            return
        began = {str(key): start for start, end in entry.coverage.stretches for key in schedule.keys(start, end)}
        left = await self.remind(began, group=group_of(name))
        settled = settle(entry.coverage, {began[shard] for shard in left})
        if settled != entry.coverage:
            await self.book.change(name, entry, settled)

    async def _keep(self, name: str, schedule: Schedule, promised: Coverage) -> None:
        assert promised.covered_until
        assert promised.promised_until
        keys = schedule.keys(promised.covered_until, promised.promised_until)
        # In a group, so that cancelling an import does not cancel what the schedule wants too.
        new = await self.jobs.enqueue([NewJob(str(key)) for key in keys], group=group_of(name))
        SCHEDULE_ENQUEUED.labels(name).inc(new)
        if new:  # nothing is new where another scheduler was quicker
            log.info("enqueued", schedule=name, jobs=new, covered_until=to_text(promised.promised_until))


def _show(name: str, coverage: Coverage) -> None:
    if coverage.covered_until:
        SCHEDULE_COVERED.labels(name).set(coverage.covered_until.timestamp())
