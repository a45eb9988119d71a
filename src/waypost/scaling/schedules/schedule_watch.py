"""Looks at the schedules now and then, and tells by metric and log what is wrong with them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from waypost.kernel.clock import to_text
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.repeating import repeat
from waypost.scaling.schedules.coverage_book import CoverageBook
from waypost.scaling.schedules.schedule import Schedule
from waypost.scaling.schedules.schedule_trouble import ScheduleTrouble, count_dead, look_for_trouble
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import JOBS_DEAD, SCHEDULE_DEAD, SCHEDULE_OVERDUE

log = get_logger("scheduler")

_EVERY_SECONDS = 30.0


@dataclass
class ScheduleWatch:
    """Logs what has changed since it last looked: an alert that repeats itself is soon not read any more."""

    schedules: Mapping[str, Schedule]
    book: CoverageBook
    jobs: JobStore
    clock: Callable[[], Awaitable[datetime]]
    _told: dict[str, ScheduleTrouble] = field(default_factory=dict, init=False)
    _dead: int = field(default=0, init=False)

    async def keep_looking(self) -> None:
        """Runs until cancelled."""
        await repeat(self.look, _EVERY_SECONDS, log=log, failing="schedules are not looked at for now")

    async def look(self) -> None:
        now = await self.clock()
        for name, found in (await look_for_trouble(self.schedules, self.book, self.jobs, now)).items():
            overdue = (now - found.overdue_since).total_seconds() if found.overdue_since else 0.0
            SCHEDULE_DEAD.labels(name).set(found.dead)
            SCHEDULE_OVERDUE.labels(name).set(overdue)
            self._tell(name, found)
        dead = await count_dead(self.jobs)
        JOBS_DEAD.set(dead)
        if dead > self._dead:
            log.error("jobs are dead", dead=dead, next_step="waypost job list --status dead")
        self._dead = dead

    def _tell(self, name: str, found: ScheduleTrouble) -> None:
        before = self._told.get(name, ScheduleTrouble())
        self._told[name] = found
        if found == before:
            return
        if found.next_step is None:
            log.info("a schedule is well again", schedule=name)
            return
        since = to_text(found.overdue_since) if found.overdue_since else None
        log.error(
            "a schedule needs a look",
            schedule=name,
            dead=found.dead,
            overdue_since=since,
            next_step=found.next_step,
        )
