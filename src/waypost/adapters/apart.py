"""What page stores do alike whose jobs are kept in another store."""

from collections import Counter

from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Page
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.store import JobStore


async def tell(jobs: JobStore, lease: Lease, page: Page, writing: Writing, changes: Counter[str]) -> Committed:
    """The job store follows what was committed. A kill before that loses counters at most: the next holder begins where
    the place store says, and goes on with a split that was not told.
    """
    total = Counter(writing.counted)
    total.update(changes)
    if writing.parts:
        await jobs.split(lease, writing.parts, counted=total)
    else:
        await jobs.checkpoint(lease, cursor=page.cursor, counted=total)
    return Committed(changes, ended=bool(writing.parts))
