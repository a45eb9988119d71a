"""The schedule of a chore: forgetting old jobs.

The key of a chore has no area, only the line of the schedule at which it is due, so that any number of schedulers
enqueue it once. After a time away, only the latest is due: doing a chore twice in a row changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from waypost.kernel.clock import to_text
from waypost.kernel.configuration import setting
from waypost.scaling.jobs.shards import OURSELVES, ShardKey
from waypost.scaling.schedules.times import parse_period, parse_time_of_day

PRUNE, OLDER = "prune", "older"


@dataclass(frozen=True)
class PruneSchedule:
    what: ClassVar[str] = PRUNE
    scope: ClassVar[str | None] = None
    settling: ClassVar[timedelta] = timedelta()
    is_awaited: ClassVar[bool] = False
    every: timedelta = setting("every", "1d", parse=parse_period, explain="how often jobs that ended are forgotten")
    at: timedelta = setting("at", "00:00", parse=parse_time_of_day, explain="one of these times, in UTC")
    older_than: timedelta = setting("older_than", "30d", parse=parse_period, explain="only jobs that ended so long ago")

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:  # noqa: ARG002 - the latest is enough
        """The key says how old, so that a worker needs no schedules of its own."""
        older = f"{self.older_than // timedelta(seconds=1)}s"
        return [ShardKey(OURSELVES, ((PRUNE, to_text(end)), (OLDER, older)))]
