"""One MongoDB database: its client, its guarantees, its transactions."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

from bson.codec_options import CodecOptions
from pymongo import AsyncMongoClient, ReadPreference, WriteConcern
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern

from waypost.adapters.errors import StoreRefused
from waypost.adapters.mongodb import schema
from waypost.adapters.mongodb.arrivals import JobArrivals
from waypost.adapters.mongodb.errors import at_the_border, bad_url, is_duplicate, is_write_conflict
from waypost.kernel.backoff import full_jitter

Document = dict[str, Any]
Result = TypeVar("Result")

_OPEN_SECONDS = 10
# Building an index reads the whole collection.
_MIGRATE_SECONDS = 3600
_DEFAULT_NAME = "waypost"
_CODEC: "CodecOptions[Document]" = CodecOptions(tz_aware=True, tzinfo=UTC)
_WRITE_CONCERN = WriteConcern("majority", j=True)
# How often a transaction starts again because others changed the same documents, and how often its commit is sent.
_TRIES = 20
_PAUSE, _LONGEST_PAUSE = 0.005, 0.5


class Taken(Exception):
    """Not an error: another process is changing the same documents, or has since we looked."""


class MongoDatabase:
    """Belongs to the event loop it was opened in; another thread opens its own."""

    def __init__(self, url: str) -> None:
        self.client: AsyncMongoClient[Document] = AsyncMongoClient(url, appname="waypost", retryWrites=True)
        # What was acknowledged survives the loss of a primary, and what is read will not be rolled back. A secondary
        # may be behind, so the primary answers, whatever the URL prefers.
        self.database = self.client.get_default_database(
            _DEFAULT_NAME,
            codec_options=_CODEC,
            read_preference=ReadPreference.PRIMARY,
            write_concern=_WRITE_CONCERN,
            read_concern=ReadConcern("majority"),
        )
        self.jobs = self.database.jobs
        self.counters = self.database.counters
        self.arrivals = JobArrivals(self.jobs)
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing

    @classmethod
    async def open(cls, url: str, *, migrating: bool) -> Self:
        """Opens the database. When `migrating`, brings its schema up to date; otherwise it must be current."""
        database = await cls.connect(url)
        try:
            if migrating:
                await database.migrate()
            else:
                await database.refuse_older()
        except BaseException:
            await database.close()
            raise
        return database

    @classmethod
    async def connect(cls, url: str) -> Self:
        """Connects whatever the schema, unless only other code may use it: for callers that inspect or change it."""
        database = await cls._make(url)
        try:
            await database.check()
        except BaseException:
            await database.close()
            raise
        return database

    async def close(self) -> None:
        await self.arrivals.close()
        await self.client.close()

    async def now(self, session: AsyncClientSession | None = None) -> datetime:
        """The store's clock, which counts in milliseconds."""
        [row] = await self.counters.find({}, {"_id": 0, "now": "$$NOW"}, limit=1, session=session).to_list()
        moment: datetime = row["now"]
        return moment

    async def transaction(
        self, work: Callable[[AsyncClientSession], Awaitable[Result]], *, waiting: bool = True
    ) -> Result:
        """Keeps all that `work` does in the session, or nothing; `work` may be called several times.

        It starts again only after the server has said that nothing was kept. As long as that is unknown, the same
        commit is sent again, which changes nothing if it was kept; a caller that never finds out gets an error.

        Without `waiting`, it raises Taken as soon as it meets another transaction. A write outside of a transaction
        would wait for that, up to a minute if its client was killed, and look no different from one on a slow disk.
        """
        async with self.client.start_session() as session:
            for attempt in range(1, _TRIES):
                try:
                    return await self._try(session, work)
                except PyMongoError as error:
                    if not waiting and is_write_conflict(error):
                        raise Taken from error
                    if error.timeout or not _is_conflict(error):
                        raise
                await self._pause(attempt)
            return await self._try(session, work)

    async def _try(
        self, session: AsyncClientSession, work: Callable[[AsyncClientSession], Awaitable[Result]]
    ) -> Result:
        await session.start_transaction(read_concern=ReadConcern("snapshot"), write_concern=_WRITE_CONCERN)
        try:
            result = await work(session)
        except BaseException:
            await session.abort_transaction()
            raise
        await self._commit(session)
        return result

    async def _commit(self, session: AsyncClientSession) -> None:
        for attempt in range(1, _TRIES):
            try:
                await session.commit_transaction()
            except PyMongoError as error:
                if error.timeout or not error.has_error_label("UnknownTransactionCommitResult"):
                    raise
            else:
                return
            await self._pause(attempt)
        await session.commit_transaction()

    async def _pause(self, attempt: int) -> None:
        await asyncio.sleep(full_jitter(attempt, base=_PAUSE, cap=_LONGEST_PAUSE, rng=self._rng))

    @classmethod
    @at_the_border(_OPEN_SECONDS)
    async def _make(cls, url: str) -> Self:
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
        await schema.refuse_foreign(self.database)

    @at_the_border(_OPEN_SECONDS)
    async def refuse_older(self) -> None:
        await schema.refuse_older(self.database)

    @at_the_border(_OPEN_SECONDS)
    async def schema_status(self) -> tuple[int, tuple[str, ...]]:
        """The schema's version, and the names of what is missing."""
        version = await schema.recorded_version(self.database)
        return version, schema.NAMES[version:]

    @at_the_border(_OPEN_SECONDS)
    async def server_time(self) -> datetime:
        """The server's clock, also where there is no collection yet that `now` could ask."""
        told = await self.database.command("hello", codec_options=_CODEC)
        moment: datetime = told["localTime"]
        return moment

    @at_the_border(_MIGRATE_SECONDS)
    async def migrate(self) -> list[str]:
        """Returns the names of what was applied."""
        return await schema.migrate(self.database)


def _is_conflict(error: PyMongoError) -> bool:
    """Whether others changed the same documents, or added one of ours after our snapshot was taken."""
    return error.has_error_label("TransientTransactionError") or is_duplicate(error)
