"""Imports on MongoDB."""

from collections.abc import Sequence

import msgspec

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.documents import literal
from waypost.adapters.mongodb.errors import at_the_border
from waypost.adapters.mongodb.moments import NOW_US, from_us, to_us
from waypost.importing.imports import Import, ImportStatus
from waypost.importing.source import Scope

_QUICK = 10


class MongoImportStore:
    def __init__(self, database: MongoDatabase) -> None:
        self._imports = database.database.imports

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
