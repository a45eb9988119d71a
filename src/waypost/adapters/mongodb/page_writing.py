"""What a page changes on MongoDB, inside the transaction that commits it.

Everything is read from the transaction's snapshot. Whatever another process has changed since then, and we change too,
is a conflict: the transaction starts again, and sees that change.
"""

import re
from collections import Counter
from datetime import datetime
from typing import NamedTuple

import msgspec
from bson.binary import UUID_SUBTYPE, Binary
from pymongo import InsertOne, ReplaceOne, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.page_ending import MongoPageEnding
from waypost.adapters.page_rows import (
    PageRows,
    PlaceRow,
    RejectRow,
    SettledRows,
    Versions,
    changes_of,
    is_news,
    moved_by,
    remembered,
)
from waypost.adapters.pass_outcomes import Outcome, concluded, decode_pass, encode_pass
from waypost.importing.pages import OutdatedAnswer, Writing, rivals
from waypost.importing.passes import Gap, Pass
from waypost.importing.refusals import too_many_rejected
from waypost.importing.source import Page
from waypost.kernel.clock import to_us
from waypost.kernel.errors import TerminalError
from waypost.places.events import PlacesChanged, places_changed
from waypost.scaling.jobs.job import Lease

_KNOWN = {"content_hash": 1, "requested_at": 1, "removed_at": 1, "area": 1, "version": 1}


class Busy(NamedTuple):
    """Where to look for shards in work: documents that match `like`, with the shard's key in the field `key`."""

    collection: AsyncCollection[Document]
    like: Document
    key: str
    indexed: str


class MongoPageWriting:
    """`now` is the store's time."""

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
        self._database = database.database
        self._session = session
        self._lease = lease
        self._shard = lease.shard
        self._writing = writing
        self._requested_at = to_us(writing.requested_at)
        self._moment, self._now = now, to_us(now)
        self._busy = busy
        self._ending = MongoPageEnding(database, session, lease.shard, writing, self._now)

    async def write(self, page: Page, rows: PageRows) -> Outcome:
        state = (await self._load()).reading(page, self._writing.extent, self._writing.requested_at)
        # What is gone is looked for before anything is written, so that a first import finds nothing to look through.
        state = await self._look_for_the_gone(state, page, rows.seen)
        again = await self._ending.mark(state.marks, rows.marks(state.records)) if state.marks and rows.seen else {}
        settled = rows.settled(state.records, again)
        state = msgspec.structs.replace(state, unsure=state.unsure or moved_by(again, page))
        added, changed = await self._put(settled.places, rows.still) if settled.accepted else ([], [])
        if settled.rejects:
            await self._reject(settled.rejects)
        await self._remember(page, settled)
        state = settled.noted_in(state, len(added))
        error = None
        if page.last or self._writing.parts:
            error = too_many_rejected(self._shard, self._writing, state)
            state = state if error else await self._ending.go_on(state.ending(page, self._writing.parts))
        changes = await self._tell(added, changed)
        return await self._keep(settled.count(changes), state, error)

    async def go_on(self) -> Outcome:
        state = await self._ending.go_on(await self._load())
        changes = await self._tell([], [])
        return await self._keep(Counter(removed=len(changes.removed)), state, None)

    async def _load(self) -> Pass:
        found = await self._database.passes.find_one({"_id": self._shard}, session=self._session)
        return decode_pass(found["state"] if found else None, self._lease)

    async def _keep(self, counted: Counter[str], state: Pass, error: TerminalError | None) -> Outcome:
        outcome = concluded(counted, state, error or self._ending.refused)
        mine = {"_id": self._shard}
        if outcome.is_over:
            await self._database.passes.delete_one(mine, session=self._session)
        else:
            kept = {"state": encode_pass(outcome.state), "seen_at": self._now}
            await self._database.passes.replace_one(mine, kept, upsert=True, session=self._session)
        return outcome

    async def _look_for_the_gone(self, state: Pass, page: Page, seen: list[str]) -> Pass:
        await self._ending.strike(seen, self._requested_at)
        if not page.covers or state.unsure or any(gap.is_open for gap in state.gaps):
            return state
        covered = Gap(page.covers.start, "", page.covers.end, self._writing.requested_at)
        rest = await self._ending.gather(covered, seen)
        return state.leaving(rest) if rest else state

    async def _put(self, rows: list[PlaceRow], still: list[str]) -> tuple[Versions, Versions]:
        """Writes what is new and what has changed; returns which was which, with its version."""
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

    def _refuse_outdated(self, same: list[Document], still: list[str]) -> None:
        if still and self._writing.known_at:
            known_at = to_us(self._writing.known_at)
            if len([each for each in same if each["removed_at"] is None and each["requested_at"] <= known_at]) < len(
                still
            ):
                raise OutdatedAnswer(f"{self._shard}: places have changed since the answer was remembered")

    async def _remember(self, page: Page, rows: SettledRows) -> None:
        if self._writing.question and (answer := remembered(page, rows)):
            kept = {"answer": answer.decode(), "requested_at": self._requested_at}
            asked = {"_id": self._writing.question}
            await self._database.answers.update_one(asked, {"$set": kept}, upsert=True, session=self._session)

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

    async def _tell(self, added: Versions, changed: Versions) -> PlacesChanged:
        """Writes one event for all that the commit changes."""
        changes = changes_of(self._shard, self._writing, added, changed, self._ending.removed)
        if not changes.is_empty:
            event = places_changed(changes, self._moment)
            document = {
                "_id": event.id,
                "name": event.name,
                "subject": event.subject,
                "occurred_at": self._now,
                "data": bytes(event.data).decode(),
            }
            await self._database.outbox.insert_one(document, session=self._session)
        return changes
