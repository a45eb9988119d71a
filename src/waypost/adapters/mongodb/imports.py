"""Imports on MongoDB."""

from collections.abc import Sequence

import msgspec
from pymongo import ASCENDING

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.documents import literal
from waypost.adapters.mongodb.errors import at_the_border
from waypost.adapters.mongodb.moments import NOW_US, from_us, to_us
from waypost.adapters.mongodb.schema import BY_SHARD
from waypost.importing.imports import Import, ImportStatus, Rejected
from waypost.importing.source import Scope

_QUICK, _LONG = 10, 60


class MongoImportStore:
    def __init__(self, database: MongoDatabase) -> None:
        self._imports = database.database.imports
        self._rejects = database.database.rejects

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

    @at_the_border(_LONG)
    async def forget_rejects(self, *, older_than: float) -> None:
        before = {"$subtract": [NOW_US, round(older_than * 1_000_000)]}
        await self._rejects.delete_many({"$expr": {"$lt": ["$seen_at", before]}})


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
