"""What page stores do alike whose jobs are kept in another store."""

from collections import Counter

from waypost.adapters.pass_outcomes import Outcome
from waypost.importing.pages import Committed, Writing
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.store import JobStore


async def tell(jobs: JobStore, lease: Lease, writing: Writing, outcome: Outcome, following: str | None) -> Committed:
    """The job store follows what was committed. A kill before that loses counters at most: the next holder begins where
    the place store says, and goes on with a split that was not told.
    """
    total = Counter(writing.counted)
    total.update(outcome.counted)
    is_split = outcome.is_over and bool(outcome.state.parts)
    if is_split:
        await jobs.split(lease, outcome.state.parts, counted=total)
    else:
        await jobs.checkpoint(lease, cursor=outcome.cursor(following), counted=total)
    return outcome.committed(ended=is_split)
