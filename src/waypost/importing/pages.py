"""The page commit: places, cursor and counters in one transaction, under the job's fence."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from waypost.importing.source import Page
from waypost.scaling.jobs.job import Lease


class Committed(msgspec.Struct, frozen=True):
    """What a page changed: how many places were added, changed, unchanged and rejected; and whether it ended the job.

    Where jobs are kept apart from places, the commit cannot end the job, and the worker acknowledges it instead.
    """

    changes: Mapping[str, int]
    ended: bool


class PageStore(Protocol):
    async def now(self) -> datetime:
        """The store's time, to be taken before a page's request is sent."""
        ...

    async def begin(self, lease: Lease) -> Lease | None:
        """The lease with the cursor to go on from, or None when the shard is done already. Raises LeaseLost.

        Where jobs are kept apart from places, the place store knows best how far a shard is, and which fence is newest.
        """
        ...

    async def commit(
        self, lease: Lease, page: Page, *, requested_at: datetime, counted: Mapping[str, int]
    ) -> Committed:
        """Write a page and move the cursor; a last page also ends the shard. Raises LeaseLost.

        Unchanged places write nothing, and what a later request has brought is not overwritten.
        """
        ...
