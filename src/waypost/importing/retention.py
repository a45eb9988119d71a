"""Forgets what was kept long enough: in bites small enough to hold nobody up, and once an hour by one of the processes
that share a store.

What is lost: a forgotten answer is asked for in full the next time; a rejected record is no longer shown; and a shard
whose job is forgotten too would be imported again if it were enqueued.
"""

from collections.abc import AsyncIterator, Awaitable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol

from waypost.importing.imports import ImportStore, SomeShards, status_by_jobs
from waypost.importing.pages import PageStore
from waypost.kernel.clock import from_text, to_text
from waypost.scaling.event_outbox import Outbox
from waypost.scaling.fact_store import Facts
from waypost.scaling.jobs.job import Status
from waypost.scaling.jobs.store import Chosen, JobStore
from waypost.scaling.repeating import repeat
from waypost.telemetry.logs import get_logger

# Few enough that each statement takes milliseconds.
BITE = 500
# How many of the latest imports are checked for having ended.
_LATEST = 100
log = get_logger("retention")

_EVERY = timedelta(hours=1)
_LAST = "forgot-at"


class Step(Protocol):
    def __call__(self, *, older_than: float, limit: int) -> Awaitable[int]:
        """Forgets at most `limit`; returns how many."""


class _Look(Protocol):
    def __call__(self, shard: str, /, *, older_than: float, limit: int) -> Awaitable[SomeShards]: ...


async def prune(
    imports: ImportStore,
    jobs: JobStore,
    *,
    older_than: float,
    statuses: Collection[Status] = ("done", "cancelled"),
) -> int:
    """Forgets jobs and imports that ended `older_than` seconds ago, and what imports left behind by then: rejected
    records, answers, the state of shards whose jobs are kept apart, and readings that nobody will go on with. Returns
    how many jobs were forgotten.
    """
    # Before ends are written down: what has just ended is kept for as long as everything else.
    await forget_all(imports.forget_imports, older_than)
    await _write_down_ends(imports, jobs)
    await forget_all(imports.forget_rejects, older_than)
    await forget_all(imports.forget_answers, older_than)
    await forget_all(imports.forget_removals, older_than)
    pruned = await jobs.prune(older_than=older_than, statuses=statuses)
    await forget_shards(imports, jobs, older_than)
    await forget_passes(imports, jobs, older_than)
    return pruned


async def prune_chosen(
    imports: ImportStore, jobs: JobStore, chosen: Chosen, *, older_than: float, statuses: Collection[Status]
) -> int:
    """Forgets some jobs that ended `older_than` seconds ago, and nothing else; returns how many."""
    await _write_down_ends(imports, jobs)
    return await jobs.prune(older_than=older_than, statuses=statuses, prefix=chosen.prefix, limit=chosen.limit)


async def forget_all(step: Step, older_than: float) -> int:
    forgotten = 0
    while bite := await step(older_than=older_than, limit=BITE):
        forgotten += bite
    return forgotten


async def forget_shards(imports: ImportStore, jobs: JobStore, older_than: float) -> int:
    """Where jobs are kept apart, forgets what the place store knows of shards whose job the job store has forgotten."""
    forgotten = 0
    async for shards in _without_job(jobs, imports.shards_after, older_than):
        forgotten += await imports.forget_shards(shards, older_than=older_than)
    return forgotten


async def forget_passes(imports: ImportStore, jobs: JobStore, older_than: float) -> int:
    """Forgets readings that have begun and not ended, of shards whose job is forgotten: of a cancelled import, say."""
    forgotten = 0
    async for shards in _without_job(jobs, imports.passes_after, older_than):
        for shard in shards:
            forgotten += await forget_all(partial(imports.forget_pass, shard), older_than)
    return forgotten


async def _without_job(jobs: JobStore, look: _Look, older_than: float) -> AsyncIterator[list[str]]:
    after: str | None = ""
    while after is not None:
        found = await look(after, older_than=older_than, limit=BITE)
        if unknown := [shard for shard in found.old if await jobs.get(shard) is None]:
            yield unknown
        after = found.last


async def _write_down_ends(imports: ImportStore, jobs: JobStore) -> None:
    """Writes down how imports ended, while their jobs can tell."""
    for each in await imports.latest(_LATEST):
        if each.status == "running":
            status = status_by_jobs(await jobs.tally(each.id))
            if status != "running":
                await imports.finish(each.id, status)


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
        await repeat(self.forget_old, _EVERY.total_seconds(), log=log, failing="what is old stays for now")

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
