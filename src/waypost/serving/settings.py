"""What can be set about snapshots: where they are kept, and when they are built."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from waypost.kernel.clock import to_text
from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_count
from waypost.scaling.jobs.shard_keys import OURSELVES, ShardKey
from waypost.scaling.schedules.schedule import parse_period, parse_time_of_day

SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class ServingSettings:
    snapshots: str = setting("snapshots", "", "where snapshots are kept; in the data folder when empty")
    keep: int = setting("snapshot.keep", "3", "how many generations are kept", parse_count(1, 1_000_000))
    box_limit: int = setting(
        "serving.max_limit", "10000", "the most places that one answer may have", parse_count(1, 1_000_000)
    )


@dataclass(frozen=True)
class SnapshotSchedule:
    """Builds snapshots as a chore: after downtime only the latest one is due."""

    what: ClassVar[str] = SNAPSHOT
    scope: ClassVar[str | None] = None
    settling: ClassVar[timedelta] = timedelta()
    is_awaited: ClassVar[bool] = False
    every: timedelta = setting("every", "1h", "how often a snapshot is built", parse_period)
    at: timedelta = setting("at", "00:00", "one of these times, in UTC", parse_time_of_day)

    def keys(self, start: datetime, end: datetime) -> Sequence[ShardKey]:  # noqa: ARG002 - the latest is enough
        return [ShardKey(OURSELVES, ((SNAPSHOT, to_text(end)),))]
