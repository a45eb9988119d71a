"""Compares what was promised with what the places know to be done, and enqueues the rest again.

A job store apart from the places may forget: it was flushed, lost its last second, or was restored from a backup; or
the place store was. Nobody who looks twice does harm: a shard that is done is not enqueued, and one that is known to
the job store is not enqueued twice.
"""

from collections.abc import Collection, Mapping, Sequence

from waypost.importing.pages import PageStore
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.store import JobStore
from waypost.telemetry.logs import get_logger

log = get_logger("reminding")

# Of a group, so many are looked at.
_MOST_DONE = 100_000


async def remind(
    jobs: JobStore, pages: PageStore, shards: Collection[str], *, group: str
) -> Mapping[str, Sequence[str]]:
    """Make sure there is a job for all that is left of these shards; returns what that is."""
    left = await pages.unfinished(shards)
    if again := [part for parts in left.values() for part in parts]:
        new = await jobs.enqueue([NewJob(shard) for shard in again], group=group)
        if new := new + await _redo(jobs, pages, again, group):
            log.warning("enqueued again what the job store had forgotten", group=group, jobs=new)
    return left


async def _redo(jobs: JobStore, pages: PageStore, again: Sequence[str], group: str) -> int:
    """Done in the job store and not among the places: those went back in time.

    The places are asked once more: they know first, and the job may have ended since they were asked.
    """
    done = {job.shard for job in await jobs.list(status="done", group=group, limit=_MOST_DONE)}
    lost = await pages.unfinished([shard for shard in again if shard in done]) if done else {}
    return await jobs.redo([part for parts in lost.values() for part in parts]) if lost else 0
