"""The page commit: places, cursor and counters in one transaction, under the job's fence."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from waypost.importing.source import Page
from waypost.scaling.jobs.job import Lease


class PageStore(Protocol):
    async def now(self) -> datetime:
        """The store's time, to be taken before a page's request is sent."""
        ...

    async def commit(
        self, lease: Lease, page: Page, *, requested_at: datetime, counted: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Write a page and move the cursor; a last page also ends the job (leased → done). Raises LeaseLost.

        Unchanged places write nothing, and what a later request has brought is not overwritten. Returns how many
        places were added, changed, unchanged and rejected.
        """
        ...
