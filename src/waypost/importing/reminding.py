"""Compares what was promised with what the place store knows to be done, and enqueues the rest again.

A job store apart from the places may forget: it was flushed, lost its last second, or was restored from a backup; or
the place store was. Looking twice does no harm: a shard that is done is not enqueued, and one that is known to the job
store is not enqueued twice.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from waypost.importing.imports import Import, ImportStore, status_by_jobs
from waypost.importing.pages import PageStore
from waypost.importing.source import OpenSource
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import AskedWrongly
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.repeating import repeat
from waypost.telemetry.logs import get_logger

log = get_logger("reminding")

_EVERY_SECONDS = 60.0
# How many of the latest imports are looked at.
_LATEST = 50
# How many done jobs of a group are looked at.
_MOST_DONE = 100_000


async def keep_reminding(
    open_source: OpenSource, imports: ImportStore, jobs: JobStore, pages: PageStore, *, retention: float | None
) -> None:
    """Runs until cancelled. Only for jobs that are kept apart: jobs beside their places are not forgotten."""
    remind = partial(remind_imports, open_source, imports, jobs, pages, retention=retention)
    await repeat(remind, _EVERY_SECONDS, log=log, failing="imports are not looked after for now")


async def remind_imports(
    open_source: OpenSource, imports: ImportStore, jobs: JobStore, pages: PageStore, *, retention: float | None
) -> None:
    """Enqueues lost jobs of running imports again, and ends the imports whose places are all there.

    Imports older than `retention` seconds are left alone: what they have done may be forgotten.
    """
    now = utc_now()
    for each in await imports.latest(_LATEST):
        is_young = not retention or (now - each.started_at).total_seconds() < retention
        if each.status == "running" and is_young:
            try:
                async with open_source(each.source) as source:
                    shards = source.plan(each.scope, each.started_at.date(), each.id)
            except AskedWrongly:
                continue  # another process has this source
            await remind_import(each, shards, imports, jobs, pages)


async def remind_import(
    running: Import, shards: Sequence[ShardKey], imports: ImportStore, jobs: JobStore, pages: PageStore
) -> None:
    left = await remind(jobs, pages, [str(shard) for shard in shards], group=running.id)
    tally = await jobs.tally(running.id)
    if not left and not tally.unfinished:
        await imports.finish(running.id, status_by_jobs(tally) if tally.total else "done")


async def remind(
    jobs: JobStore, pages: PageStore, shards: Collection[str], *, group: str
) -> Mapping[str, Sequence[str]]:
    """Makes sure there is a job for everything that is left of these shards; returns what is left."""
    left = await pages.unfinished(shards)
    if again := [part for parts in left.values() for part in parts]:
        new = await jobs.enqueue([NewJob(shard) for shard in again], group=group)
        if new := new + await _redo(jobs, pages, again, group):
            log.warning("enqueued again what the job store had forgotten", group=group, jobs=new)
    return left


async def _redo(jobs: JobStore, pages: PageStore, again: Sequence[str], group: str) -> int:
    """Redoes jobs that are done in the job store but not in the place store, which has gone back in time.

    The place store is asked once more: it knows first, and the job may have ended since it was asked.
    """
    done = {job.shard for job in await jobs.list(status="done", group=group, limit=_MOST_DONE)}
    lost = await pages.unfinished([shard for shard in again if shard in done]) if done else {}
    return await jobs.redo([part for parts in lost.values() for part in parts]) if lost else 0
