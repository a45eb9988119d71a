"""What all page stores share whose jobs are kept in another store."""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from waypost.adapters.pass_outcomes import Outcome
from waypost.importing.pages import Committed, Writing
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.store import JobStore


async def tell(jobs: JobStore, lease: Lease, writing: Writing, outcome: Outcome, following: str | None) -> Committed:
    """Tells the job store what was committed. A kill before that loses counters at most: the next holder begins where
    the place store says, and completes a split that the job store has not heard of.
    """
    total = Counter(writing.counted)
    total.update(outcome.counted)
    is_split = outcome.is_over and bool(outcome.state.parts)
    if is_split:
        await jobs.split(lease, outcome.state.parts, counted=total)
    else:
        await jobs.checkpoint(lease, cursor=outcome.cursor(following), counted=total)
    return outcome.committed(ended=is_split)


class ShardEnd(NamedTuple):
    """How a shard stands: whether it is done, and which parts it was split into, if it was."""

    done: bool
    parts: Sequence[str]


async def what_is_left(
    shards: Collection[str], look: Callable[[Collection[str]], Awaitable[Mapping[str, ShardEnd]]]
) -> dict[str, list[str]]:
    """Returns what is not done of each shard: the shard itself, or those of its parts, however deep, that are not."""
    left: dict[str, list[str]] = {}
    wholes = {shard: shard for shard in shards}
    while wholes:
        known = await look(wholes)
        deeper: dict[str, str] = {}
        for shard, whole in wholes.items():
            end = known.get(shard)
            if end is None or not end.done:
                left.setdefault(whole, []).append(shard)
            else:
                deeper |= dict.fromkeys(end.parts, whole)
        wholes = deeper
    return left
