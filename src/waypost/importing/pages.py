"""The page commit: places, cursor, counters and one event in one transaction, under the job's fence."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from waypost.importing.passes import ROOM
from waypost.importing.source import Extent, Page, Remembered
from waypost.kernel.errors import TerminalError, TransientError
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.shards import ShardKey

PERIODS = ("full", "refresh", "window")


class OutdatedAnswer(TransientError):
    """The provider says that its answer is what it was; but what we remember of it is no longer what we hold."""

    slug = "outdated-answer"


class Committed(msgspec.Struct, frozen=True):
    """What a commit changed: how many places were added, changed, unchanged, removed and rejected; and whether it ended
    the job.

    Where jobs are kept apart from places, the commit cannot end the job, and the worker acknowledges it instead. With
    `more` the shard is read to its end, and there is more to do before it is over. `refused` is why it is not allowed
    to end; what was committed stays, and the shard begins again if somebody revives it. `unsure` is why nothing was
    removed.
    """

    changes: Mapping[str, int]
    ended: bool
    more: bool = False
    refused: TerminalError | None = None
    unsure: str | None = None


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit needs to know beside the page.

    `requested_at` is the store's time at which its request was sent, and `counted` what the worker has counted since
    its last write. The answer to `question` is remembered, if the provider has named it; `known_at` is when the answer
    was asked for that the provider says is still the same. With `parts` the shard ends here, and these go on with what
    is left of it. `most_removed` is the share of the shard's places that may go without a person's word, and
    `most_rejected` the share of its records that may be rejected. A commit looks through `room` rows at most to find
    what is gone.
    """

    requested_at: datetime
    counted: Mapping[str, int]
    extent: Extent
    question: str | None = None
    known_at: datetime | None = None
    parts: Sequence[str] = ()
    most_removed: float = 1.0
    most_rejected: float = 1.0
    room: int = ROOM


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
        """Write a page and move the cursor; after a last page, or one with parts, the shard ends.

        Unchanged places write nothing, and what a later request has brought is not overwritten. Of records with the
        same id, the first of the pass counts, and the others are rejected. What the pass covers and lacks is removed
        when the shard ends, unless a record told no id, for it may be one of the missing, or the list moved while it
        was read. Places that were added, changed and removed are listed in one event. Raises LeaseLost and
        OutdatedAnswer.
        """
        ...

    async def go_on(self, lease: Lease, writing: Writing) -> Committed:
        """The next bounded step towards the end of a shard that is read, with the cursor ENDING. Raises LeaseLost."""
        ...


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
