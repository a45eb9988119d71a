"""The page commit: places, cursor, counters and one event in one transaction, under the job's fence."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from waypost.importing.passes import ROOM
from waypost.importing.source import Extent, Page, Remembered
from waypost.kernel.errors import TerminalError, TransientError
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.shard_keys import ShardKey

PERIODS = ("full", "refresh", "window")


class OutdatedAnswer(TransientError):
    """The provider says that its answer has not changed, but the places of that answer have changed here."""


class Committed(msgspec.Struct, frozen=True):
    """What a commit changed: how many places were added, changed, unchanged, removed and rejected; and whether it ended
    the job.

    Where jobs are kept apart from places, the commit cannot end the job, and the worker acknowledges it instead. With
    `more` the shard has been read, and there is more to do before it is over. `refused` is why it is not allowed to
    end; what was committed stays, and the shard begins again if it is revived. `unsure` is why nothing was removed.
    """

    changes: Mapping[str, int]
    ended: bool
    more: bool = False
    refused: TerminalError | None = None
    unsure: str | None = None


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit needs to know besides the page.

    `requested_at` is the store's time at which the page's request was sent, and `counted` what the worker has counted
    since its last write. The answer to `question` is remembered, if the provider has named it; if the provider says
    that an earlier answer still holds, `known_at` is when that one was asked for. With `parts` the shard ends here, and
    the parts cover what is left of it. `most_removed` is the share of the shard's places that may be removed without a
    person's consent, and `most_rejected` the share of its records that may be rejected. A commit looks through `room`
    rows at most to find what is gone.
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

    async def begin(self, lease: Lease) -> Lease | None:
        """The lease with the cursor to go on from, or None when the shard is done already. Raises LeaseLost.

        Where jobs are kept apart from places, the place store knows best how far a shard is, and which fence is newest.
        """

    async def remembered(self, question: str) -> Remembered | None:
        """Returns the last answer to a question, if the provider named it and no place in it has changed since."""

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Returns which of these shards are not done, as far as the place store knows, and what is left of each: the
        whole shard, or parts that it was split into. Raises new fences above those seen here, so that the caller may
        enqueue them again.

        Empty where jobs are kept beside their places: there no job is forgotten while its places are not.
        """

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        """Writes a page and moves the cursor; after a last page, or one with parts, the shard ends.

        Unchanged places write nothing, and what a later request has brought is not overwritten. Of records with the
        same id, the first of the pass counts, and the others are rejected. Places that the pass covers but did not see
        are removed when the shard ends, unless a record had no id, because it may be one of the missing, or the list
        moved while it was read. Places that were added, changed and removed are listed in one event. Raises LeaseLost
        and OutdatedAnswer.
        """

    async def go_on(self, lease: Lease, writing: Writing) -> Committed:
        """Takes the next bounded step towards the end of a shard whose cursor is ENDING. Raises LeaseLost."""


def rivals(shard: str) -> tuple[str, str]:
    """Returns how keys of shards begin that may bring the same places, and what those contain that bring others.

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
