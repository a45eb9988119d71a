"""Jobs that a person chooses by how their keys begin, as in a list, and what is done with them."""

import msgspec

from waypost.scaling.jobs.job import Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore

MOST_CHOSEN = 100_000


class Chosen(msgspec.Struct, frozen=True):
    """At most `limit` jobs, the oldest first."""

    prefix: str = ""
    limit: int = MOST_CHOSEN


async def revive_chosen(jobs: JobStore, chosen: Chosen) -> int:
    """Dead → pending; returns how many."""
    dead = await jobs.list(status="dead", prefix=chosen.prefix, limit=chosen.limit)
    return await jobs.revive([job.shard for job in dead]) if dead else 0


async def release_chosen(jobs: JobStore, chosen: Chosen) -> int:
    """Leased → pending; returns how many. Those whose lease ended meanwhile are left as they are."""
    released = 0
    for job in await jobs.list(status="leased", prefix=chosen.prefix, limit=chosen.limit):
        try:
            await jobs.release(Lease(job.id, job.shard, job.fence, job.attempts, job.cursor), counted={})
        except LeaseLost:
            continue
        released += 1
    return released
