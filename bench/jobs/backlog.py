"""Filling the table with jobs that ended long ago, as years of work would."""

from bench.jobs.database import Database

_FILL = """
insert into jobs (id, shard, status, fence, attempts_total, not_before, created_at, finished_at)
select gen_random_uuid(), 'past/id:' || gen_random_uuid(), 'done', 0, 1, at, at, at
from generate_series(1, {count}) as n, lateral (select now() - n * interval '1 minute') as past (at)
"""


def fill(database: Database, *, up_to: int) -> None:
    """With so many finished jobs in all."""
    finished = int(database.value("select count(*) from jobs"))
    database.value(_FILL.format(count=max(0, up_to - finished)))
