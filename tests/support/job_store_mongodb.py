"""MongoDB job stores for tests: a database of its own for each, dropped afterwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from support.job_backend import JobBackend
from support.servers import mongo
from waypost.adapters.mongodb.database import MongoDatabase
from waypost.adapters.mongodb.jobs import MongoJobStore
from waypost.scaling.jobs.store import JobStore


@asynccontextmanager
async def mongodb(_folder: Path) -> AsyncIterator[JobBackend]:
    async with clean_url() as url, open_database(url, migrating=True) as database:

        @asynccontextmanager
        async def open_again() -> AsyncIterator[JobStore]:
            async with open_database(url) as other:
                yield MongoJobStore(other)

        async def age(seconds: float) -> None:
            await age_mongodb(database, seconds)

        yield JobBackend(MongoJobStore(database), age, open_again)


@asynccontextmanager
async def clean_url() -> AsyncIterator[str]:
    """The address of a database that nobody else uses."""
    url = mongo.address().replace("/?", f"/test_{uuid4().hex}?")
    yield url
    database = MongoDatabase(url)
    await database.client.drop_database(database.database.name)
    await database.close()


# Databases of this process with the schema in place and nothing in them: making one takes longer than most tests.
_spare: list[str] = []


@asynccontextmanager
async def migrated_database() -> AsyncIterator[tuple[str, MongoDatabase]]:
    """The address of a database that nobody else uses, with its schema; and the database."""
    url = _spare.pop() if _spare else mongo.address().replace("/?", f"/test_{uuid4().hex}?")
    async with open_database(url, migrating=True) as database:
        yield url, database
        for name in await database.database.list_collection_names():
            if name not in {"schema", "counters"}:
                await database.database[name].delete_many({})
        await database.counters.update_one({"_id": "fence"}, {"$set": {"last": 0}})
    _spare.append(url)


@asynccontextmanager
async def open_database(url: str, *, migrating: bool = False) -> AsyncIterator[MongoDatabase]:
    database = await MongoDatabase.open(url, migrating=migrating)
    try:
        yield database
    finally:
        await database.close()


async def age_mongodb(database: MongoDatabase, seconds: float) -> None:
    """As if so many seconds had passed. Nothing minus some time is nothing."""
    back = round(seconds * 1000)
    times = ("lease_until", "not_before", "finished_at")
    await database.jobs.update_many({}, [{"$set": {name: {"$subtract": [f"${name}", back]} for name in times}}])
