"""Forgets what was kept long enough: once an hour, by one of the processes that share a store."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from waypost.importing.imports import ImportStore
from waypost.importing.pages import PageStore
from waypost.importing.prune import forget_all, prune
from waypost.kernel.clock import from_text, to_text
from waypost.kernel.errors import WaypostError
from waypost.scaling.events.outbox import Outbox
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.store_facts import Facts
from waypost.telemetry.logs import get_logger

log = get_logger("retention")

_EVERY = timedelta(hours=1)
_LAST = "forgot-at"


@dataclass(frozen=True)
class Retention:
    """Ended jobs are kept for `keep_jobs` seconds, and events for `keep_events`; for ever when that is None."""

    facts: Facts
    pages: PageStore
    imports: ImportStore
    jobs: JobStore
    outbox: Outbox
    keep_jobs: float | None
    keep_events: float | None

    async def keep_forgetting(self) -> None:
        """Runs until cancelled. Of the processes that share the store, the first to note the hour does it."""
        while True:
            try:
                await self.forget_old()
            except WaypostError as error:
                log.warning("what is old stays for now", error=error.slug, message=str(error))
            except Exception:
                log.exception("what is old stays for now, because of a defect")
            await asyncio.sleep(_EVERY.total_seconds())

    async def forget_old(self) -> None:
        """Does nothing if it was done less than half an hour ago."""
        now, noted = await self.pages.now(), await self.facts.get(_LAST)
        if noted and now - from_text(noted) < _EVERY / 2:
            return
        if not await self.facts.replace(_LAST, noted, to_text(now)):
            return
        if self.keep_jobs and (pruned := await prune(self.imports, self.jobs, older_than=self.keep_jobs)):
            log.info("old jobs are forgotten", pruned=pruned)
        if self.keep_events and (events := await forget_all(self.outbox.forget_older, self.keep_events)):
            log.info("old events are forgotten", events=events)
