"""How many renewals stay on their page and leave every index alone, with workers that hold many leases at once."""

import asyncio

from bench.jobs.database import Database
from waypost.bootstrap.jobs import open_job_store
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import Lease, NewJob

_JOBS, _HELD, _ROUNDS = 5_000, 512, 40
_COUNTS = "select array[n_tup_upd, n_tup_hot_upd] from pg_stat_user_tables where relname = 'jobs'"


def hot_share(database: Database) -> float:
    """In an empty database."""
    leases = asyncio.run(_claim(database))
    before = _counts(database)
    asyncio.run(_renew(database, leases))
    updated, in_place = (then - earlier for then, earlier in zip(_counts(database), before, strict=True))
    return in_place / updated


def _counts(database: Database) -> list[int]:
    # Counted by each connection when it is idle or ends, and ours have ended.
    counts: list[int] = database.value(_COUNTS)
    return counts


async def _claim(database: Database) -> list[Lease]:
    async with open_job_store(database.client_url, migrating=True) as store:
        await store.enqueue([NewJob(f"bench/id:{new_id()}") for _ in range(_JOBS)])
        return list(await store.claim("renewals", limit=_HELD, lease=600, max_vanished=5))


async def _renew(database: Database, leases: list[Lease]) -> None:
    async with open_job_store(database.client_url) as store:
        for _ in range(_ROUNDS):
            await store.renew(leases, lease=600)
