"""What can be set about jobs and leases."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_count, parse_duration, parse_duration_between, parse_retention


@dataclass(frozen=True)
class JobsSettings:
    lease: float = setting(
        "lease", "30s", "how long a worker may work on a shard without renewing", parse_duration_between("100ms", "1d")
    )
    concurrency: int = setting(
        "jobs.concurrency", "4", "shards that one worker process works on at once", parse_count(1, 10_000)
    )
    store_patience: float = setting(
        "jobs.store_patience", "1m", "how long a worker waits for a store that is away, busy or full", parse_duration
    )
    retention: float | None = setting(
        "jobs.retention",
        "30d",
        "how long ended jobs and imports, rejected records and remembered answers are kept; for ever when empty",
        parse_retention,
    )
    max_attempts: int = setting(
        "jobs.max_attempts", "5", "tries that fail without progress before a job goes dead", parse_count(1, 1000)
    )
    # Workers are killed for many reasons, most of which are not the job's.
    max_vanished: int = setting(
        "jobs.max_vanished",
        "15",
        "times in a row that a job's worker may vanish before it goes dead",
        parse_count(1, 1000),
    )
