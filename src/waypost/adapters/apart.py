"""What all page stores share whose jobs are kept in another store."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from waypost.adapters.page_writing import PageCommits
from waypost.adapters.pass_outcomes import Outcome
from waypost.importing.pages import Committed, Writing
from waypost.scaling.jobs.job import Lease, LeaseLost
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
    """How a shard stands: whether it is done, which parts it was split into, if it was, and where it goes on."""

    done: bool
    parts: Sequence[str]
    cursor: str | None = None


class ApartPages(PageCommits):
    """Pages whose jobs are kept in another store. The shard's row here holds fence and cursor and is the authority."""

    _jobs: JobStore

    async def begin(self, lease: Lease) -> Lease | None:
        shard = await self._raise_fence(lease)
        if shard.parts:
            # The worker that split it may have been killed before the job store knew.
            await self._jobs.split(lease, shard.parts, counted={})
        return None if shard.done else msgspec.structs.replace(lease, cursor=shard.cursor)

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:
        left = await what_is_left(shards, self._ends)
        if left:
            await self._jobs.raise_fences(await self.highest_fence())
        return left

    @abstractmethod
    async def highest_fence(self) -> int: ...

    @abstractmethod
    async def _raise_fence(self, lease: Lease) -> ShardEnd:
        """Raises LeaseLost for an older fence than the shard has seen."""

    @abstractmethod
    async def _ends(self, shards: Collection[str]) -> dict[str, ShardEnd]: ...


def outdated(lease: Lease) -> LeaseLost:
    return LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is older than what the store has seen")


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
