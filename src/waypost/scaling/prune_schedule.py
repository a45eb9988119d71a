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
from waypost.scaling.jobs.shard_keys import OURSELVES, ShardKey
from waypost.scaling.schedules.schedule import parse_period, parse_time_of_day

PRUNE, OLDER = "prune", "older"


@dataclass(frozen=True)
class PruneSchedule:
    what: ClassVar[str] = PRUNE
    scope: ClassVar[str | None] = None
    settling: ClassVar[timedelta] = timedelta()
    is_awaited: ClassVar[bool] = False
    every: timedelta = setting("every", "1d", "how often jobs that ended are forgotten", parse_period)
    at: timedelta = setting("at", "00:00", "one of these times, in UTC", parse_time_of_day)
    older_than: timedelta = setting("older_than", "30d", "only jobs that ended so long ago", parse_period)

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:  # noqa: ARG002 - the latest is enough
        """The key says how old, so that a worker needs no schedules of its own."""
        older = f"{self.older_than // timedelta(seconds=1)}s"
        return [ShardKey(OURSELVES, ((PRUNE, to_text(end)), (OLDER, older)))]
