"""The outbox on MongoDB; what goes in is written by the stores whose changes it tells of."""

from collections.abc import Collection, Sequence

import msgspec

from waypost.adapters.mongodb.database import MongoDatabase
from waypost.adapters.mongodb.errors import at_the_border
from waypost.kernel.clock import from_us, to_us
from waypost.scaling.event_outbox import Event

_QUICK, _COUNT = 10, 60


class MongoOutbox:
    def __init__(self, database: MongoDatabase) -> None:
        self._database = database
        self._outbox = database.database.outbox

    @at_the_border(_QUICK)
    async def waiting(self, limit: int) -> Sequence[Event]:
        # Their ids sort by the time at which they were made.
        found = self._outbox.find({}, sort=[("_id", 1)], limit=limit)
        return [
            Event(
                each["_id"],
                each["name"],
                each["subject"],
                from_us(each["occurred_at"]),
                msgspec.Raw(each["data"].encode()),
            )
            async for each in found
        ]

    @at_the_border(_COUNT)
    async def count(self) -> int:
        return await self._outbox.count_documents({})

    @at_the_border(_QUICK)
    async def forget_older(self, *, older_than: float, limit: int) -> int:
        """Only the first are looked at, because their ids sort by time."""
        before = to_us(await self._database.now()) - round(older_than * 1_000_000)
        found = self._outbox.find({}, {"occurred_at": 1}, sort=[("_id", 1)], limit=limit, hint="_id_")
        ids = [each["_id"] async for each in found if each["occurred_at"] < before]
        return (await self._outbox.delete_many({"_id": {"$in": ids}})).deleted_count if ids else 0

    @at_the_border(_QUICK)
    async def forget(self, ids: Collection[str]) -> int:
        return (await self._outbox.delete_many({"_id": {"$in": list(ids)}})).deleted_count
