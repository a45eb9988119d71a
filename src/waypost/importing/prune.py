"""Forgets what imports left behind long ago, in bites small enough to hold nobody up.

What is lost: a forgotten answer is asked for in full the next time; a rejected record is no longer shown; and a shard
whose job is forgotten too would be imported again if it were enqueued.
"""

from collections.abc import Awaitable, Collection
from typing import Protocol

from waypost.importing.imports import ImportStore, status_by_jobs
from waypost.scaling.jobs.job import Status
from waypost.scaling.jobs.store import JobStore

# Few enough that each statement takes milliseconds.
BITE = 500
# How many of the latest imports are checked for having ended.
_LATEST = 100


class Step(Protocol):
    def __call__(self, *, older_than: float, limit: int) -> Awaitable[int]:
        """Forgets at most `limit`; returns how many."""
        ...


async def prune(
    imports: ImportStore,
    jobs: JobStore,
    *,
    older_than: float,
    statuses: Collection[Status] = ("done", "cancelled"),
) -> int:
    """Forgets jobs that ended `older_than` seconds ago, and what imports left behind by then: rejected records,
    answers, and the state of shards whose jobs are kept apart. Returns how many jobs were forgotten.
    """
    await _write_down_ends(imports, jobs)
    await forget_all(imports.forget_rejects, older_than)
    await forget_all(imports.forget_answers, older_than)
    await forget_all(imports.forget_removals, older_than)
    pruned = await jobs.prune(older_than=older_than, statuses=statuses)
    await forget_shards(imports, jobs, older_than)
    return pruned


async def forget_all(step: Step, older_than: float) -> int:
    forgotten = 0
    while bite := await step(older_than=older_than, limit=BITE):
        forgotten += bite
    return forgotten


async def forget_shards(imports: ImportStore, jobs: JobStore, older_than: float) -> int:
    """Where jobs are kept apart, forgets what the place store knows of shards whose job the job store has forgotten."""
    forgotten, after = 0, ""
    while True:
        found = await imports.shards_after(after, older_than=older_than, limit=BITE)
        unknown = [shard for shard in found.old if await jobs.get(shard) is None]
        if unknown:
            forgotten += await imports.forget_shards(unknown, older_than=older_than)
        if found.last is None:
            return forgotten
        after = found.last


async def _write_down_ends(imports: ImportStore, jobs: JobStore) -> None:
    """Writes down how imports ended, while their jobs can tell."""
    for each in await imports.latest(_LATEST):
        if each.status == "running":
            status = status_by_jobs(await jobs.tally(each.id))
            if status != "running":
                await imports.finish(each.id, status)
