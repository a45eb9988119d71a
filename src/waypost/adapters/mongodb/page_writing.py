"""What a page changes on MongoDB, inside the transaction that commits it.

Everything is read from the transaction's snapshot. Whatever somebody else has changed since then, and we change too,
is a conflict: the transaction starts again, and sees what they did.
"""

import re
from collections import Counter
from datetime import datetime
from typing import NamedTuple

from bson.binary import UUID_SUBTYPE, Binary
from pymongo import InsertOne, ReplaceOne, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.missing import Missing
from waypost.adapters.mongodb.moments import to_us
from waypost.adapters.page_rows import PageRows, PlaceRow, RejectRow, remembered, versioned
from waypost.importing.pages import Writing, rivals
from waypost.importing.source import Page
from waypost.places.events import PlacesChanged, places_changed

_KNOWN = {"content_hash": 1, "requested_at": 1, "removed_at": 1, "area": 1, "version": 1}

_Versions = list[tuple[str, int]]


class Busy(NamedTuple):
    """Where to look for shards that somebody works on: documents like this, with the shard's key in this field."""

    collection: AsyncCollection[Document]
    like: Document
    key: str
    indexed: str


class PageWriting:
    """`now` is the store's time."""

    def __init__(
        self,
        database: MongoDatabase,
        session: AsyncClientSession,
        shard: str,
        writing: Writing,
        *,
        now: datetime,
        busy: Busy,
    ) -> None:
        self._database = database.database
        self._session = session
        self._shard = shard
        self._writing = writing
        self._requested_at = to_us(writing.requested_at)
        self._moment, self._now = now, to_us(now)
        self._busy = busy
        self._missing = Missing(database, session, shard, writing)

    async def write(self, page: Page, rows: PageRows) -> Counter[str]:
        # What is gone is looked for before anything is written, so that a first import finds nothing to look through.
        await self._missing.strike(rows.seen)
        if page.hides_some:
            await self._missing.forget()
        lacking = await self._missing.lacking(page.covers, rows.seen) if page.covers and not page.hides_some else []
        added, changed = await self._put(rows.places, rows.still) if rows.places or rows.still else ([], [])
        if rows.rejects:
            await self._reject(rows.rejects)
        removed = await self._deal_with(lacking, ends=page.last or bool(self._writing.parts))
        await self._remember(page)
        changes = PlacesChanged(
            self._writing.extent.source, self._shard, versioned(added), versioned(changed), versioned(removed)
        )
        if not changes.is_empty:
            await self._tell(changes)
        return rows.count(changes)

    async def _deal_with(self, lacking: list[str], *, ends: bool) -> _Versions:
        if ends:
            return await self._missing.remove(lacking, self._now)
        await self._missing.remember(lacking)
        return []

    async def _put(self, rows: list[PlaceRow], still: list[str]) -> tuple[_Versions, _Versions]:
        """Writes what is new and what has changed; returns which was which, with its version."""
        known = await self._known([*still, *(row.external_id for row in rows)])
        added: _Versions = []
        changed: _Versions = []
        same = [known[external_id] for external_id in still if external_id in known]
        writes: list[InsertOne[Document] | ReplaceOne[Document]] = []
        for row in rows:
            before = known.get(row.external_id)
            if before is not None and not self._is_news(row, before):
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

    async def _remember(self, page: Page) -> None:
        if self._writing.question and (answer := remembered(page)):
            kept = {"answer": answer.decode(), "requested_at": self._requested_at}
            asked = {"_id": self._writing.question}
            await self._database.answers.update_one(asked, {"$set": kept}, upsert=True, session=self._session)

    async def _known(self, external_ids: list[str]) -> dict[str, Document]:
        ids, size = {"_id": {"$in": external_ids}}, len(external_ids) + 1
        found = self._database.places.find(ids, _KNOWN, hint="_id_", batch_size=size, session=self._session)
        return {place["_id"]: place async for place in found}

    def _is_news(self, row: PlaceRow, before: Document) -> bool:
        """What a later request brought stands, however late this page comes."""
        if before["requested_at"] > self._requested_at:
            return False
        if before["removed_at"] is None:
            return bool(before["content_hash"] != row.content_hash)
        # That it was missing in one area says nothing about others.
        return bool(before["area"] != self._writing.extent.area or before["removed_at"] < self._requested_at)

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
        """Only while somebody else may bring an older state of them; otherwise what is unchanged writes nothing."""
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

    async def _reject(self, rows: list[RejectRow]) -> None:
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

    async def _tell(self, changes: PlacesChanged) -> None:
        event = places_changed(changes, self._moment)
        document = {
            "_id": event.id,
            "name": event.name,
            "subject": event.subject,
            "occurred_at": self._now,
            "data": bytes(event.data).decode(),
        }
        await self._database.outbox.insert_one(document, session=self._session)
