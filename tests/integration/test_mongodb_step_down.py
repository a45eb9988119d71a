"""MongoDB's primary steps down: what was being done is done again, or was done, and all goes on."""

import asyncio

import pytest
from pymongo.errors import AutoReconnect

from support.patience import patiently
from support.servers.private import private_mongod
from waypost.adapters.mongodb.database import MongoDatabase
from waypost.adapters.mongodb.jobs import MongoJobStore
from waypost.scaling.jobs.job import Done, Lease, NewJob

pytestmark = pytest.mark.anyio

SHARDS = [f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(40)]


async def step_down(database: MongoDatabase) -> None:
    try:
        await database.client.admin.command("replSetStepDown", 1, force=True)
    except AutoReconnect:  # older servers close the connection on which they are asked
        return


async def test_work_goes_on_while_the_primary_steps_down() -> None:
    with private_mongod() as (url, _):
        database = await MongoDatabase.open(url, migrating=True)
        try:
            jobs = MongoJobStore(database)
            await jobs.enqueue([NewJob(shard) for shard in SHARDS])
            leases = list(await jobs.claim("me", limit=len(SHARDS), lease=60, max_vanished=5))

            async def end(lease: Lease) -> None:
                await patiently(lambda: jobs.complete([Done(lease, {})]))

            await asyncio.gather(step_down(database), *(end(lease) for lease in leases))
            assert await patiently(jobs.count) == {"done": len(SHARDS)}
            await patiently(lambda: jobs.enqueue([NewJob("ocm/country:FR/full:2026-02-21")]))
        finally:
            await database.close()
