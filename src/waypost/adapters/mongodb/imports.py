"""Imports on MongoDB."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from pymongo import ASCENDING
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.documents import NOW_US, literal
from waypost.adapters.mongodb.errors import at_the_border
from waypost.adapters.mongodb.page_ending import LAST
from waypost.adapters.mongodb.schema import BY_AGE, BY_FENCE, BY_SHARD
from waypost.adapters.pass_outcomes import marks_of
from waypost.importing.imports import Import, ImportStatus, Rejected, SomeShards
from waypost.importing.source import Scope
from waypost.kernel.clock import from_us, to_us

_QUICK = 10


class MongoImportStore:
    def __init__(self, database: MongoDatabase) -> None:
        self._imports = database.database.imports
        self._rejects = database.database.rejects
        self._removals = database.database.removals
        self._answers = database.database.answers
        self._shards = database.database.shards
        self._passes = database.database.passes
        self._marks = database.database.marks
        self._candidates = database.database.candidates
        self._database = database

    @at_the_border(_QUICK)
    async def start(self, started: Import) -> None:
        await self._imports.insert_one(
            {
                "_id": started.id,
                "source": started.source,
                "scope": msgspec.json.encode(started.scope).decode(),
                "status": started.status,
                "started_at": to_us(started.started_at),
                "finished_at": None,
            }
        )

    @at_the_border(_QUICK)
    async def finish(self, import_id: str, status: ImportStatus) -> None:
        end = {"status": literal(status), "finished_at": NOW_US}
        await self._imports.update_one({"_id": import_id}, [{"$set": end}])

    @at_the_border(_QUICK)
    async def get(self, import_id: str) -> Import | None:
        found = await self._imports.find_one({"_id": import_id})
        return _to_import(found) if found else None

    @at_the_border(_QUICK)
    async def latest(self, limit: int) -> Sequence[Import]:
        # Ids sort by time.
        return [_to_import(found) async for found in self._imports.find(sort=[("_id", -1)], limit=limit)]

    @at_the_border(_QUICK)
    async def rejects(self, shards: Sequence[str], limit: int) -> Sequence[Rejected]:
        by_shard = [("shard", ASCENDING), ("record_hash", ASCENDING)]
        found = self._rejects.find({"shard": {"$in": shards}}, sort=by_shard, limit=limit, hint=BY_SHARD)
        return [Rejected(each["shard"], each["external_id"], each["reason"]) async for each in found]

    @at_the_border(_QUICK)
    async def forget_rejects(self, *, older_than: float, limit: int) -> int:
        return await self._forget(self._rejects, {"seen_at": {"$lt": await self._before(older_than)}}, limit)

    @at_the_border(_QUICK)
    async def forget_answers(self, *, older_than: float, limit: int) -> int:
        return await self._forget(self._answers, {"requested_at": {"$lt": await self._before(older_than)}}, limit)

    @at_the_border(_QUICK)
    async def forget_removals(self, *, older_than: float, limit: int) -> int:
        return await self._forget(self._removals, {"judged_at": {"$lt": await self._before(older_than)}}, limit)

    @at_the_border(_QUICK)
    async def forget_imports(self, *, older_than: float, limit: int) -> int:
        return await self._forget(self._imports, {"finished_at": {"$lt": await self._before(older_than)}}, limit)

    @at_the_border(_QUICK)
    async def shards_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        return await _after(self._shards, shard, await self._database.now() - timedelta(seconds=older_than), limit)

    @at_the_border(_QUICK)
    async def forget_shards(self, shards: Sequence[str], *, older_than: float) -> int:
        highest = await self._shards.find_one({}, {"fence": 1}, sort=[("fence", -1)], hint=BY_FENCE)
        before = await self._database.now() - timedelta(seconds=older_than)
        fence = {"$lt": highest["fence"] if highest else 0}
        old = {"_id": {"$in": list(shards)}, "seen_at": {"$lt": before}, "fence": fence}
        return (await self._shards.delete_many(old, hint="_id_")).deleted_count

    @at_the_border(_QUICK)
    async def passes_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        return await _after(self._passes, shard, await self._before(older_than), limit)

    @at_the_border(_QUICK)
    async def forget_pass(self, shard: str, *, older_than: float, limit: int) -> int:
        old = {"_id": shard, "seen_at": {"$lt": await self._before(older_than)}}

        async def work(session: AsyncClientSession) -> int:
            # A worker that goes on with it meanwhile is in conflict with this write.
            found = await self._passes.find_one_and_update(old, {"$inc": {"bites": 1}}, hint="_id_", session=session)
            if found is None:
                return 0
            for name in marks_of(found["state"]):
                span = {"_id": {"$gt": f"{name}:", "$lt": f"{name}:{LAST}"}}
                if marks := await _forget_some(self._marks, span, "_id_", limit, session):
                    return marks
            candidates = await _forget_some(self._candidates, {"shard": shard}, BY_SHARD, limit, session)
            return candidates or (await self._passes.delete_one({"_id": shard}, session=session)).deleted_count

        return await self._database.transaction(work)

    async def _before(self, older_than: float) -> int:
        return to_us(await self._database.now()) - round(older_than * 1_000_000)

    async def _forget(self, collection: AsyncCollection[Document], old: Document, limit: int) -> int:
        """Repeats the condition where it deletes: a document may have been seen again since we looked."""
        [(field, _)] = old.items()
        found = collection.find(old, {"_id": 1}, sort=[(field, ASCENDING)], limit=limit, hint=BY_AGE)
        ids = [each["_id"] async for each in found]
        return (await collection.delete_many({"_id": {"$in": ids}, **old}, hint="_id_")).deleted_count if ids else 0


async def _after(collection: AsyncCollection[Document], shard: str, before: datetime | int, limit: int) -> SomeShards:
    wanted = collection.find({"_id": {"$gt": shard}}, {"seen_at": 1}, sort=[("_id", 1)], limit=limit, hint="_id_")
    found = await wanted.to_list()
    old = [each["_id"] for each in found if each["seen_at"] < before]
    return SomeShards(old, found[-1]["_id"] if len(found) == limit else None)


async def _forget_some(
    collection: AsyncCollection[Document], span: Document, index: str, limit: int, session: AsyncClientSession
) -> int:
    found = collection.find(span, {"_id": 1}, limit=limit, hint=index, session=session)
    ids = [each["_id"] async for each in found]
    wanted = {"_id": {"$in": ids}}
    return (await collection.delete_many(wanted, hint="_id_", session=session)).deleted_count if ids else 0


def _to_import(found: Document) -> Import:
    finished_at = found["finished_at"]
    return Import(
        found["_id"],
        found["source"],
        msgspec.json.decode(found["scope"], type=Scope),
        found["status"],
        from_us(found["started_at"]),
        None if finished_at is None else from_us(finished_at),
    )
