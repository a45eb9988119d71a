"""How far an import is: pure arithmetic on successive tallies of its jobs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from waypost.scaling.jobs.job import Tally
from waypost.scaling.ratelimit.limits import Limit


@dataclass(frozen=True, slots=True)
class Progress:
    shards_done: int
    shards_total: int
    leases: int
    places: int
    requests: int
    # requests that failed or were refused, and shards that failed for good
    errors: int
    requests_per_second: float
    # requests sent, as a share of what the budget has allowed since the start
    budget_use: float
    seconds_left: float | None


def measure(tally: Tally, *, elapsed: float, finished_before: int, limits: Sequence[Limit]) -> Progress:
    """`finished_before` shards were done when this import began; they say nothing about its speed."""
    ended = tally.total - tally.unfinished
    counted = tally.counters
    requests = counted.get("requests", 0)
    worked = ended - finished_before
    return Progress(
        shards_done=ended,
        shards_total=tally.total,
        leases=tally.jobs.get("leased", 0),
        places=sum(counted.get(change, 0) for change in ("added", "changed", "unchanged")),
        requests=requests,
        errors=counted.get("retries", 0) + counted.get("refusals", 0) + tally.jobs.get("dead", 0),
        requests_per_second=requests / elapsed if elapsed > 0 else 0.0,
        budget_use=requests / min((limit.burst + limit.rate * elapsed for limit in limits), default=math.inf),
        seconds_left=elapsed / worked * tally.unfinished if worked > 0 else None,
    )
