"""Places on MongoDB."""

import uuid
from collections.abc import AsyncIterator, Sequence

import msgspec
from bson.binary import UUID_SUBTYPE, Binary

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.errors import at_the_border
from waypost.adapters.mongodb.schema import LIVE
from waypost.places.place import Place
from waypost.places.store import Kept, Part, id_parts

# Seconds for a place or a batch of them, and for counting, which reads an index from end to end.
_QUICK, _COUNT = 30, 120
_WITHOUT_RECORD = {"place": 1}
_WITH_RECORD = {"place": 1, "record": 1}
_place = msgspec.json.Decoder(Place)


class MongoPlaceStore:
    def __init__(self, database: MongoDatabase) -> None:
        self._places = database.database.places

    async def get(self, place_id: uuid.UUID) -> Place | None:
        found = await self._find(place_id, _WITHOUT_RECORD)
        return _place.decode(found["place"]) if found else None

    async def get_with_record(self, place_id: uuid.UUID) -> Kept | None:
        found = await self._find(place_id, _WITH_RECORD)
        return Kept(_place.decode(found["place"]), found["record"]) if found else None

    @at_the_border(_COUNT)
    async def count(self) -> int:
        return await self._places.count_documents({"live": True}, hint=LIVE)

    async def parts(self, wanted: int) -> Sequence[Part]:
        return id_parts(wanted)

    async def scan(self, batch: int = 1000, part: Part | None = None) -> AsyncIterator[Sequence[Place]]:
        async for found in self._batches(batch, _WITHOUT_RECORD) if part is None else self._part(part, batch):
            yield [_place.decode(each["place"]) for each in found]

    async def scan_with_records(self, batch: int = 1000) -> AsyncIterator[Sequence[Kept]]:
        async for found in self._batches(batch, _WITH_RECORD):
            yield [Kept(_place.decode(each["place"]), each["record"]) for each in found]

    async def _batches(self, limit: int, fields: Document) -> AsyncIterator[list[Document]]:
        # One query per batch, and no cursor: the server forgets one that is not used for ten minutes.
        after = ""
        while found := await self._next(after, limit, fields):
            after = found[-1]["_id"]
            yield found

    async def _part(self, part: Part, limit: int) -> AsyncIterator[list[Document]]:
        after, last = uuid.UUID(part.after).bytes, uuid.UUID(part.last).bytes
        while found := await self._next_of_part(after, last, limit):
            after = bytes(found[-1]["id"])
            yield found

    @at_the_border(_QUICK)
    async def _find(self, place_id: uuid.UUID, fields: Document) -> Document | None:
        wanted = {"id": Binary(place_id.bytes, UUID_SUBTYPE), "live": True}
        return await self._places.find_one(wanted, fields, hint="id")

    @at_the_border(_QUICK)
    async def _next(self, after: str, limit: int, fields: Document) -> list[Document]:
        rest = {"_id": {"$gt": after}, "live": True}
        return await self._places.find(rest, fields, sort=[("_id", 1)], limit=limit, hint="_id_").to_list()

    @at_the_border(_QUICK)
    async def _next_of_part(self, after: bytes, last: bytes, limit: int) -> list[Document]:
        between = {"$gt": Binary(after, UUID_SUBTYPE), "$lte": Binary(last, UUID_SUBTYPE)}
        found = self._places.find(
            {"id": between, "live": True}, {"id": 1, "place": 1}, sort=[("id", 1)], limit=limit, hint="id"
        )
        return await found.to_list()
