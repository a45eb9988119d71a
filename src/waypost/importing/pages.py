"""The page commit: places, cursor, counters and one event in one transaction, under the job's fence."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from waypost.importing.source import Extent, Page, Remembered
from waypost.kernel.errors import TerminalError
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.shards import ShardKey

PERIODS = ("full", "refresh", "window")
# So few may go from a shard without anybody being asked, whatever share of it they are.
FEW = 20


class MassDelete(TerminalError):
    """More places would go than a provider usually deletes; most likely it has lost them itself.

    What to do about it is part of the message: that is what a job keeps of its failure.
    """

    slug = "mass-delete"


class Committed(msgspec.Struct, frozen=True):
    """What a page changed: how many places were added, changed, unchanged, removed and rejected; and whether it ended
    the job.

    Where jobs are kept apart from places, the commit cannot end the job, and the worker acknowledges it instead.
    """

    changes: Mapping[str, int]
    ended: bool


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit needs to know beside the page.

    `requested_at` is the store's time at which its request was sent, and `counted` what the worker has counted since
    its last write. The answer to `question` is remembered, if the provider has named it. With `parts` the shard ends
    here, and these go on with what is left of it. `most_removed` is the share of the shard's places that may go without
    a person's word.
    """

    requested_at: datetime
    counted: Mapping[str, int]
    extent: Extent
    question: str | None = None
    parts: Sequence[str] = ()
    most_removed: float = 1.0


class PageStore(Protocol):
    async def now(self) -> datetime:
        """The store's time, to be taken before a page's request is sent."""
        ...

    async def begin(self, lease: Lease) -> Lease | None:
        """The lease with the cursor to go on from, or None when the shard is done already. Raises LeaseLost.

        Where jobs are kept apart from places, the place store knows best how far a shard is, and which fence is newest.
        """
        ...

    async def remembered(self, question: str) -> Remembered | None:
        """The last answer to a question, if it had a name and no place in it has changed since."""
        ...

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Which of these shards are not done, as far as the places know, and what is left of each: all of it, or parts
        that it was split into. For whoever is about to enqueue that again, new fences start above those seen here.

        None, where jobs are kept beside their places: there no job is forgotten while its places are not.
        """
        ...

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        """Write a page and move the cursor; a last page, or one with parts, also ends the shard.

        Unchanged places write nothing, and what a later request has brought is not overwritten. What the page covers
        and lacks is remembered, and removed when the shard ends; all of that is forgotten when a record tells no id,
        for it may be one of the missing. Places that were added, changed and removed are
        listed in one event. Raises LeaseLost, and MassDelete when too many would go.
        """
        ...


def refuse_mass_delete(shard: str, writing: Writing, *, going: int, held: int) -> None:
    """`going` of the `held` places would be removed."""
    if going > FEW and going > held * writing.most_removed:
        raise MassDelete(
            f"{shard}: the provider no longer has {going} of the {held} places that we hold there, which is more than"
            f" {writing.most_removed:.0%} (import.most_removed); look at the provider, and if it is right:"
            " waypost import run … --refresh --allow-mass-delete"
        )


def rivals(shard: str) -> tuple[str, str]:
    """How the keys begin of shards that may bring the same places, and what those have in them that bring others.

    A window and a full refresh of one country bring the same places; the parts of one refresh do not.
    """
    key = ShardKey.parse(shard)
    for position, (axis, value) in enumerate(key.parts):
        if axis in PERIODS:
            first = key.parts[0]
            # Boxes of different sizes overlap, so that each is a rival of all others.
            area = "" if position == 0 else "box:" if first[0] == "box" else f"{first[0]}:{first[1]}/"
            return f"{key.source}/{area}", f"/{axis}:{value}"
    return f"{key.source}/", shard
