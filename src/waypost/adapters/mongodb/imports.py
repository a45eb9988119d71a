"""Imports on MongoDB."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
from pymongo import ASCENDING
from pymongo.asynchronous.collection import AsyncCollection

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.documents import literal
from waypost.adapters.mongodb.errors import at_the_border
from waypost.adapters.mongodb.moments import NOW_US, from_us, to_us
from waypost.adapters.mongodb.schema import BY_AGE, BY_FENCE, BY_SHARD
from waypost.importing.imports import Import, ImportStatus, Rejected, SomeShards
from waypost.importing.source import Scope

_QUICK = 10


class MongoImportStore:
    def __init__(self, database: MongoDatabase) -> None:
        self._imports = database.database.imports
        self._rejects = database.database.rejects
        self._removals = database.database.removals
        self._answers = database.database.answers
        self._shards = database.database.shards
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
    async def shards_after(self, shard: str, *, older_than: float, limit: int) -> SomeShards:
        before = await self._database.now() - timedelta(seconds=older_than)
        wanted = self._shards.find({"_id": {"$gt": shard}}, {"seen_at": 1}, sort=[("_id", 1)], limit=limit, hint="_id_")
        found = await wanted.to_list()
        old = [each["_id"] for each in found if each["seen_at"] < before]
        return SomeShards(old, found[-1]["_id"] if len(found) == limit else None)

    @at_the_border(_QUICK)
    async def forget_shards(self, shards: Sequence[str], *, older_than: float) -> int:
        highest = await self._shards.find_one({}, {"fence": 1}, sort=[("fence", -1)], hint=BY_FENCE)
        before = await self._database.now() - timedelta(seconds=older_than)
        fence = {"$lt": highest["fence"] if highest else 0}
        old = {"_id": {"$in": list(shards)}, "seen_at": {"$lt": before}, "fence": fence}
        return (await self._shards.delete_many(old, hint="_id_")).deleted_count

    async def _before(self, older_than: float) -> int:
        return to_us(await self._database.now()) - round(older_than * 1_000_000)

    async def _forget(self, collection: AsyncCollection[Document], old: Document, limit: int) -> int:
        """Repeats the condition where it deletes: a document may have been seen again since we looked."""
        [(field, _)] = old.items()
        found = collection.find(old, {"_id": 1}, sort=[(field, ASCENDING)], limit=limit, hint=BY_AGE)
        ids = [each["_id"] async for each in found]
        return (await collection.delete_many({"_id": {"$in": ids}, **old}, hint="_id_")).deleted_count if ids else 0


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
