"""Forgets what importing has left behind long ago, in bites that hold nobody up.

What is lost: an answer that nobody has had for so long is asked for in full the next time; a rejected record is no
longer shown; and a shard whose job is forgotten too would be imported anew if somebody enqueued it.
"""

from collections.abc import Awaitable
from typing import Protocol

from waypost.importing.imports import ImportStore
from waypost.scaling.jobs.store import JobStore

# BoundedWork enough that each statement takes milliseconds.
BITE = 500


class Step(Protocol):
    def __call__(self, *, older_than: float, limit: int) -> Awaitable[int]:
        """Forget no more than so many; returns how many."""
        ...


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
