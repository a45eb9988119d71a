"""What a page changes on MongoDB.

Everything is read from the transaction's snapshot. Whatever another process has changed since then, and we change too,
is a conflict: the transaction starts again, and sees that change.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from bson.binary import UUID_SUBTYPE, Binary
from pymongo import InsertOne, ReplaceOne, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.page_ending import MongoPageEnding
from waypost.adapters.page_rows import PlaceRow, RejectRow, Versions, is_news
from waypost.adapters.page_writing import PageWriting
from waypost.importing.pages import Writing, rivals
from waypost.kernel.clock import to_us
from waypost.scaling.event_outbox import Event
from waypost.scaling.jobs.job import Lease

_KNOWN = {"content_hash": 1, "requested_at": 1, "removed_at": 1, "area": 1, "version": 1}


class Busy(NamedTuple):
    """Where to look for shards in work: documents that match `like`, with the shard's key in the field `key`."""

    collection: AsyncCollection[Document]
    like: Document
    key: str
    indexed: str


class MongoPageWriting(PageWriting):
    def __init__(
        self,
        database: MongoDatabase,
        session: AsyncClientSession,
        lease: Lease,
        writing: Writing,
        *,
        now: datetime,
        busy: Busy,
    ) -> None:
        self._now = to_us(now)
        super().__init__(lease, writing, MongoPageEnding(database, session, lease.shard, writing, self._now), now)
        self._database = database.database
        self._session = session
        self._requested_at = to_us(writing.requested_at)
        self._busy = busy

    async def _load_pass(self) -> str | None:
        found = await self._database.passes.find_one({"_id": self._shard}, session=self._session)
        return found["state"] if found else None

    async def _keep_pass(self, state: str | None) -> None:
        mine = {"_id": self._shard}
        if state is None:
            await self._database.passes.delete_one(mine, session=self._session)
        else:
            kept = {"state": state, "seen_at": self._now}
            await self._database.passes.replace_one(mine, kept, upsert=True, session=self._session)

    async def _put(self, rows: Sequence[PlaceRow], still: Sequence[str]) -> tuple[Versions, Versions]:
        known = await self._known([*still, *(row.external_id for row in rows)])
        added: Versions = []
        changed: Versions = []
        same = [known[external_id] for external_id in still if external_id in known]
        self._refuse_outdated(same, still)
        writes: list[InsertOne[Document] | ReplaceOne[Document]] = []
        for row in rows:
            before = known.get(row.external_id)
            if before is not None and not is_news(row, before, self._writing.extent.area, self._requested_at):
                same.append(before)
                continue
            version = before["version"] + 1 if before else 1
            document = self._document(row, version)
            writes.append(ReplaceOne({"_id": row.external_id}, document) if before else InsertOne(document))
            is_new = before is None or before["removed_at"] is not None
            (added if is_new else changed).append((row.external_id, version))
        if writes:
            await self._database.places.bulk_write(writes, ordered=False, session=self._session)
        await self._touch(same)
        return added, changed

    def _refuse_outdated(self, same: list[Document], still: Sequence[str]) -> None:
        if still and self._writing.known_at:
            known_at = to_us(self._writing.known_at)
            if sum(each["removed_at"] is None and each["requested_at"] <= known_at for each in same) < len(still):
                raise self._outdated()

    async def _remember(self, question: str, answer: str) -> None:
        kept = {"$set": {"answer": answer, "requested_at": self._requested_at}}
        await self._database.answers.update_one({"_id": question}, kept, upsert=True, session=self._session)

    async def _known(self, external_ids: list[str]) -> dict[str, Document]:
        ids, size = {"_id": {"$in": external_ids}}, len(external_ids) + 1
        found = self._database.places.find(ids, _KNOWN, hint="_id_", batch_size=size, session=self._session)
        return {place["_id"]: place async for place in found}

    def _document(self, row: PlaceRow, version: int) -> Document:
        return {
            "_id": row.external_id,
            "id": Binary(row.id, UUID_SUBTYPE),
            "place": row.place,
            "record": row.record,
            "content_hash": row.content_hash,
            "source": self._writing.extent.source,
            "area": self._writing.extent.area,
            "number": row.number,
            "requested_at": self._requested_at,
            "changed_at": self._now,
            "version": version,
            # When the request was sent whose answer lacked it. The flag says the same, for indexes.
            "removed_at": None,
            "live": True,
        }

    async def _touch(self, same: list[Document]) -> None:
        """Notes that places were seen, if others may bring an older state; otherwise unchanged places write nothing."""
        older = [
            place["_id"] for place in same if place["removed_at"] is None and place["requested_at"] < self._requested_at
        ]
        if older and await self._is_contended():
            seen = {"$set": {"requested_at": self._requested_at}}
            await self._database.places.update_many({"_id": {"$in": older}}, seen, hint="_id_", session=self._session)

    async def _is_contended(self) -> bool:
        prefix, period = rivals(self._shard)
        # From the prefix itself to the prefix with the last of all characters behind it.
        rival = {"$gte": prefix, "$lt": prefix + "\U0010ffff", "$not": {"$regex": re.escape(period)}}
        like = {**self._busy.like, self._busy.key: rival}
        found = await self._busy.collection.find_one(like, {"_id": 1}, hint=self._busy.indexed, session=self._session)
        return found is not None

    async def _reject(self, rows: Sequence[RejectRow]) -> None:
        writes = [
            UpdateOne(
                {"shard": self._shard, "record_hash": row.record_hash},
                {
                    "$set": {"seen_at": self._now},
                    "$setOnInsert": {"record": row.record, "reason": row.reason, "external_id": row.external_id},
                },
                upsert=True,
            )
            for row in rows
        ]
        await self._database.rejects.bulk_write(writes, ordered=False, session=self._session)

    async def _write_event(self, event: Event) -> None:
        document = {
            "_id": event.id,
            "name": event.name,
            "subject": event.subject,
            "occurred_at": self._now,
            "data": bytes(event.data).decode(),
        }
        await self._database.outbox.insert_one(document, session=self._session)
