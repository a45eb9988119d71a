"""The page commit on MongoDB."""

from collections.abc import Collection
from datetime import datetime

from pymongo import ReturnDocument
from pymongo.asynchronous.client_session import AsyncClientSession

from waypost.adapters.apart import ApartPages, ShardEnd, outdated, tell
from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.documents import counting, ending, literal
from waypost.adapters.mongodb.errors import at_the_border
from waypost.adapters.mongodb.jobs import MongoJobStore
from waypost.adapters.mongodb.page_writing import Busy, MongoPageWriting
from waypost.adapters.mongodb.schema import BY_FENCE, LEASED, UNFINISHED
from waypost.adapters.mongodb.sizes import refuse_large_records
from waypost.adapters.page_rows import recall
from waypost.adapters.page_writing import PageCommits, Write
from waypost.adapters.pass_outcomes import Outcome
from waypost.importing.pages import Committed, Writing
from waypost.importing.source import Page, Remembered
from waypost.kernel.clock import from_us
from waypost.scaling.jobs.job import Lease
from waypost.scaling.jobs.store import JobStore

_WITHIN_THE_HOUR = {"$gt": ["$seen_at", {"$dateSubtract": {"startDate": "$$NOW", "unit": "hour", "amount": 1}}]}

# Seconds for a look, and for a commit with its tries.
_QUICK, _COMMIT = 10, 30


class _Pages(PageCommits):
    def __init__(self, database: MongoDatabase) -> None:
        self._database = database

    @at_the_border(_QUICK)
    async def now(self) -> datetime:
        return await self._database.now()

    @at_the_border(_QUICK)
    async def remembered(self, question: str) -> Remembered | None:
        found = await self._database.database.answers.find_one({"_id": question})
        if not found:
            return None
        answer = recall(found["answer"], from_us(found["requested_at"]))
        same = {"_id": {"$in": answer.external_ids}, "live": True, "requested_at": {"$lte": found["requested_at"]}}
        count = await self._database.database.places.count_documents(same, hint="_id_")
        return answer if count == len(set(answer.external_ids)) else None

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        return await super().commit(lease, refuse_large_records(page), writing)


class MongoPageStore(_Pages):
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    def __init__(self, database: MongoDatabase, jobs: MongoJobStore) -> None:
        super().__init__(database)
        self._jobs = jobs
        self._busy = Busy(database.jobs, {"status": "leased"}, "shard", LEASED)

    @at_the_border(_COMMIT)
    async def _commit(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Committed:
        async def work(session: AsyncClientSession) -> Committed:
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            now = await self._hold(session, lease, following, writing)
            outcome = await write(MongoPageWriting(self._database, session, lease, writing, now=now, busy=self._busy))
            if outcome.is_over and outcome.state.parts:
                await self._jobs.split_in(session, lease, outcome.state.parts, outcome.counted)
            elif outcome.is_over:
                await self._jobs.change(lease, ending("done", outcome.counted), session)
            else:
                cursor = literal(outcome.cursor(following))
                await self._jobs.change(lease, counting(outcome.counted, cursor=cursor), session)
            return outcome.committed(ended=outcome.is_over)

        return await self._database.transaction(work)

    async def _hold(self, session: AsyncClientSession, lease: Lease, cursor: str | None, writing: Writing) -> datetime:
        """Holds the job until the transaction ends: a claim waits for that, and one that came before is a conflict.

        An update that changes nothing is not a write and holds nothing; that is why pages are counted.
        """
        pages = {"$add": [{"$ifNull": ["$pages", 0]}, 1]}
        update = counting(writing.counted, cursor=literal(cursor), attempts=0, failures=0, pages=pages)
        now: datetime = (await self._jobs.change(lease, update, session))["now"]
        return now


class MongoApartPageStore(ApartPages, _Pages):
    def __init__(self, database: MongoDatabase, job_store: JobStore) -> None:
        super().__init__(database)
        self._shards = database.database.shards
        self._jobs = job_store
        self._busy = Busy(self._shards, {"done": False, "$expr": _WITHIN_THE_HOUR}, "_id", UNFINISHED)

    @at_the_border(_QUICK)
    async def highest_fence(self) -> int:
        found = await self._shards.find_one({}, {"fence": 1}, sort=[("fence", -1)], hint=BY_FENCE)
        return int(found["fence"]) if found else 0

    @at_the_border(_QUICK)
    async def _ends(self, shards: Collection[str]) -> dict[str, ShardEnd]:
        found = self._shards.find({"_id": {"$in": list(shards)}}, {"done": 1, "parts": 1})
        return {each["_id"]: ShardEnd(each["done"], each["parts"] or ()) async for each in found}

    async def _commit(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Committed:
        outcome = await self._write(lease, writing, write, following)
        return await tell(self._jobs, lease, writing, outcome, following)

    @at_the_border(_COMMIT)
    async def _write(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Outcome:
        async def work(session: AsyncClientSession) -> Outcome:
            now: datetime = (await self._hold(lease, session))["now"]
            outcome = await write(MongoPageWriting(self._database, session, lease, writing, now=now, busy=self._busy))
            parts = list(outcome.state.parts) if outcome.is_over else []
            moved: Document = {"cursor": outcome.cursor(following), "done": outcome.is_over, "parts": parts or None}
            await self._shards.update_one({"_id": lease.shard}, {"$set": moved}, session=session)
            return outcome

        return await self._database.transaction(work)

    @at_the_border(_QUICK)
    async def _raise_fence(self, lease: Lease) -> ShardEnd:
        shard = await self._hold(lease)
        return ShardEnd(shard["done"], shard["parts"] or (), shard["cursor"])

    async def _hold(self, lease: Lease, session: AsyncClientSession | None = None) -> Document:
        """A worker with an older fence than the shard has seen changes nothing.

        An update that changes nothing is not a write and holds nothing; that is why writes are counted.
        """
        shard = await self._shards.find_one_and_update(
            {"_id": lease.shard},
            {
                "$max": {"fence": lease.fence},
                "$inc": {"writes": 1},
                "$currentDate": {"seen_at": True},
                "$setOnInsert": {"cursor": None, "done": False, "parts": None},
            },
            {"fence": 1, "cursor": 1, "done": 1, "parts": 1, "now": "$$NOW"},
            upsert=True,
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        assert shard
        if shard["fence"] > lease.fence:
            raise outdated(lease)
        return shard
