"""Forgets what importing has left behind long ago, in bites that hold nobody up.

What is lost: an answer that nobody has had for so long is asked for in full the next time; a rejected record is no
longer shown; and a shard whose job is forgotten too would be imported anew if somebody enqueued it.
"""

from collections.abc import Awaitable, Collection
from typing import Protocol

from waypost.importing.imports import ImportStore, status_by_jobs
from waypost.scaling.jobs.job import Status
from waypost.scaling.jobs.store import JobStore

# Few enough that each statement takes milliseconds.
BITE = 500
# So many imports may be running, of those that were started last.
_LATEST = 100


class Step(Protocol):
    def __call__(self, *, older_than: float, limit: int) -> Awaitable[int]:
        """Forget no more than so many; returns how many."""
        ...


async def prune(
    imports: ImportStore,
    jobs: JobStore,
    *,
    older_than: float,
    statuses: Collection[Status] = ("done", "cancelled"),
) -> int:
    """Forget jobs that ended so many seconds ago, and what imports left behind as long ago: rejected records, answers,
    and where shards stand whose jobs are kept apart. Returns how many jobs that are.
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
    """Of jobs kept apart: what the places know of a shard goes once the job store has forgotten its job too."""
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
    """How an import ended is written down while its jobs can tell."""
    for each in await imports.latest(_LATEST):
        if each.status == "running":
            status = status_by_jobs(await jobs.tally(each.id))
            if status != "running":
                await imports.finish(each.id, status)
