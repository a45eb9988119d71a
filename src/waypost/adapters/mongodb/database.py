"""One MongoDB database: its client, its guarantees, its transactions."""

from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import Any, Self, TypeVar

from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient, ReadPreference, WriteConcern
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import OperationFailure
from pymongo.read_concern import ReadConcern

from waypost.adapters.errors import StoreRefused
from waypost.adapters.mongodb import schema
from waypost.adapters.mongodb.arrivals import Arrivals
from waypost.adapters.mongodb.errors import at_the_border, bad_url, is_duplicate

Document = dict[str, Any]
Result = TypeVar("Result")

_OPEN_SECONDS = 10
# Building an index reads the whole collection.
_MIGRATE_SECONDS = 3600
_DEFAULT_NAME = "waypost"
# How often a transaction starts again because somebody else added the same shard meanwhile.
_TRIES = 10


class MongoDatabase:
    """For the event loop it was opened in; another thread opens its own."""

    def __init__(self, url: str) -> None:
        self.client: AsyncMongoClient[Document] = AsyncMongoClient(url, appname="waypost", retryWrites=True)
        # What was acknowledged survives the loss of a primary, and what is read will not be rolled back. A secondary
        # may be behind, so the primary answers, whatever the URL prefers.
        self.database = self.client.get_default_database(
            _DEFAULT_NAME,
            codec_options=CodecOptions(tz_aware=True, tzinfo=UTC),
            read_preference=ReadPreference.PRIMARY,
            write_concern=WriteConcern("majority"),
            read_concern=ReadConcern("majority"),
        )
        self.jobs = self.database.jobs
        self.counters = self.database.counters
        self.arrivals = Arrivals(self.jobs)

    @classmethod
    async def open(cls, url: str, *, migrating: bool) -> Self:
        """The database, with its schema made or brought up to date when `migrating`, and otherwise as it must be."""
        database = await cls._connect(url)
        try:
            await database.check()
            if migrating:
                await database.migrate()
            else:
                await database.refuse_older()
        except BaseException:
            await database.close()
            raise
        return database

    async def close(self) -> None:
        await self.arrivals.close()
        await self.client.close()

    async def transaction(self, work: Callable[[AsyncClientSession], Awaitable[Result]]) -> Result:
        """All that `work` does in the session is kept, or nothing; it may be called several times."""
        async with self.client.start_session() as session:
            for left in reversed(range(_TRIES)):
                try:
                    return await session.with_transaction(
                        work, read_concern=ReadConcern("snapshot"), write_concern=WriteConcern("majority")
                    )
                except OperationFailure as error:
                    # The driver retries conflicts, but not a shard that was added after our snapshot was taken.
                    if not left or not is_duplicate(error):
                        raise
        raise AssertionError("the last try returns or raises")

    @classmethod
    @at_the_border(_OPEN_SECONDS)
    async def _connect(cls, url: str) -> Self:
        try:
            return cls(url)
        except ValueError as error:
            raise bad_url(str(error)) from error

    @at_the_border(_OPEN_SECONDS)
    async def check(self) -> None:
        server = await self.database.command("hello")
        if "setName" not in server and server.get("msg") != "isdbgrid":
            raise StoreRefused(
                "this MongoDB server is on its own, and only a replica set has transactions",
                next_step="start mongod with --replSet (a set of one will do), or use another store",
            )
        await schema.refuse_newer(self.database)

    @at_the_border(_OPEN_SECONDS)
    async def refuse_older(self) -> None:
        await schema.refuse_older(self.database)

    @at_the_border(_MIGRATE_SECONDS)
    async def migrate(self) -> None:
        await schema.migrate(self.database)
