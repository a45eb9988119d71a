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


async def remind(
    jobs: JobStore, pages: PageStore, shards: Collection[str], *, group: str
) -> Mapping[str, Sequence[str]]:
    """Make sure there is a job for all that is left of these shards; returns what that is."""
    left = await pages.unfinished(shards)
    if again := [part for parts in left.values() for part in parts]:
        new = await jobs.enqueue([NewJob(shard) for shard in again], group=group)
        # Done in the job store and not among the places: those went back in time.
        if new := new + await jobs.redo(again):
            log.warning("enqueued again what the job store had forgotten", group=group, jobs=new)
    return left
