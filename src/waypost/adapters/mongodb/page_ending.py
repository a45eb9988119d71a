"""How a shard ends on MongoDB."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pymongo import ReplaceOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.schema import BY_IMPORT, BY_PLACE, BY_SHARD, LIVE
from waypost.adapters.page_ending import PageEnding, Taking
from waypost.importing.pages import Writing
from waypost.importing.passes import Clear, Count, Did, Doubt, Gap, Judge, Remove, missed_once
from waypost.importing.refusals import Others
from waypost.kernel.clock import to_us

# Sorts after all ids.
LAST = "\U0010ffff"


class MongoPageEnding(PageEnding):
    """`now` is the store's time."""

    def __init__(
        self, database: MongoDatabase, session: AsyncClientSession, shard: str, writing: Writing, now: int
    ) -> None:
        super().__init__(shard, writing)
        self._places = database.database.places
        self._candidates = database.database.candidates
        self._marks = database.database.marks
        self._removals = database.database.removals
        self._session = session
        self._now = now

    async def strike(self, seen: Sequence[str]) -> None:
        struck = {"external_id": {"$in": seen}, "requested_at": {"$lte": to_us(self._writing.requested_at)}}
        await self._candidates.delete_many(struck, hint=BY_PLACE, session=self._session)

    async def _set_marks(self, name: str, new: Mapping[str, int], changed: Mapping[str, int]) -> None:
        if new:
            marks = [{"_id": f"{name}:{external_id}", "position": position} for external_id, position in new.items()]
            await self._marks.insert_many(marks, ordered=False, session=self._session)
        if changed:
            writes = [ReplaceOne({"_id": f"{name}:{each}"}, {"position": at}) for each, at in changed.items()]
            await self._marks.bulk_write(writes, ordered=False, session=self._session)

    async def _take(self, step: Taking) -> Did:
        found = await self._next_candidates(step.after, step.limit)
        last, going = max(found, default=""), 0
        match step:
            case Doubt():
                await self._doubt(found)
            case Count():
                going = len(await self._going(found))
            case Remove():
                await self._bury(found, await self._going(found))
        if found and not isinstance(step, Doubt | Count):
            span = {"shard": self._shard, "external_id": {"$gt": step.after, "$lte": last}}
            await self._candidates.delete_many(span, hint=BY_SHARD, session=self._session)
        return Did(len(found), external_id=last, going=going)

    async def _sweep(self, gap: Gap, seen: frozenset[str] | str, limit: int) -> Did:
        extent = self._writing.extent
        until = {} if gap.end is None else {"$lt": gap.end}
        here = {"live": True, "source": extent.source, "area": extent.area}
        same = {**here, "number": gap.number, "_id": {"$gt": gap.external_id}}
        held = await self._held(same, limit)
        if len(held) < limit:
            held += await self._held({**here, "number": {"$gt": gap.number, **until}}, limit - len(held))
        if not held:
            return Did()
        ids = [place["_id"] for place in held]
        if isinstance(seen, str):
            seen = frozenset(await self._marked(seen, ids))
        await self._remember([each for each in ids if each not in seen], to_us(gap.requested_at))
        return Did(len(held), held[-1]["number"], ids[-1])

    async def _held(self, places: Document, limit: int) -> list[Document]:
        return await self._first(limit, self._places, places, {"_id": 1, "number": 1}, ("number", "_id"), LIVE)

    async def _first(
        self,
        limit: int,
        there: AsyncCollection[Document],
        wanted: Document,
        shown: Document,
        by: Sequence[str],
        hint: str,
    ) -> list[Document]:
        """The first documents by these fields, all in one batch."""
        order = [(field, 1) for field in by]
        found = there.find(
            wanted, shown, sort=order, limit=limit, batch_size=limit + 1, hint=hint, session=self._session
        )
        return await found.to_list()

    async def _marked(self, name: str, external_ids: Sequence[str]) -> dict[str, int]:
        wanted = {"_id": {"$in": [f"{name}:{external_id}" for external_id in external_ids]}}
        found = self._marks.find(wanted, hint="_id_", batch_size=len(external_ids) + 1, session=self._session)
        return {mark["_id"][len(name) + 1 :]: mark["position"] async for mark in found}

    async def _remember(self, lacking: list[str], requested_at: int) -> None:
        """Makes candidates of those that no later request has seen; those that already are keep their time."""
        if not lacking:
            return
        old = {"_id": {"$in": lacking}, "live": True, "requested_at": {"$lte": requested_at}}
        found = self._places.find(old, {"_id": 1}, hint="_id_", batch_size=len(lacking) + 1, session=self._session)
        missing = [place["_id"] async for place in found]
        mine = {"shard": self._shard, "external_id": {"$in": missing}}
        known = self._candidates.find(mine, {"external_id": 1}, hint=BY_SHARD, session=self._session)
        before = {candidate["external_id"] async for candidate in known}
        fresh = [
            {"shard": self._shard, "external_id": external_id, "requested_at": requested_at}
            for external_id in missing
            if external_id not in before
        ]
        if fresh:
            await self._candidates.insert_many(fresh, ordered=False, session=self._session)

    async def _next_candidates(self, after: str, limit: int) -> dict[str, int]:
        """Returns the next candidates, with the times at which they were first missed."""
        wanted, shown = {"shard": self._shard, "external_id": {"$gt": after}}, {"external_id": 1, "requested_at": 1}
        found = await self._first(limit, self._candidates, wanted, {"_id": 0, **shown}, ("external_id",), BY_SHARD)
        return {candidate["external_id"]: candidate["requested_at"] for candidate in found}

    async def _doubt(self, missed: Mapping[str, int]) -> None:
        once = missed_once(self._writing.extent)
        ids = {"external_id": {"$in": list(missed)}}
        known = self._candidates.find({"shard": once, **ids}, {"external_id": 1}, hint=BY_SHARD, session=self._session)
        before = {candidate["external_id"] async for candidate in known}
        first = [external_id for external_id in missed if external_id not in before]
        if first:
            mine = {"shard": self._shard, "external_id": {"$in": first}}
            kept = {"$set": {"shard": once}}
            await self._candidates.update_many(mine, kept, hint=BY_SHARD, session=self._session)

    async def _going(self, missed: Mapping[str, int]) -> dict[str, int]:
        """Returns those that would be removed, with their versions."""
        extent = self._writing.extent
        here = {"_id": {"$in": list(missed)}, "live": True, "source": extent.source, "area": extent.area}
        seen = {"requested_at": 1, "version": 1}
        found = self._places.find(here, seen, hint="_id_", batch_size=len(missed) + 1, session=self._session)
        return {
            place["_id"]: place["version"] async for place in found if place["requested_at"] <= missed[place["_id"]]
        }

    async def _bury(self, missed: Mapping[str, int], going: Mapping[str, int]) -> None:
        together = defaultdict(list)
        for external_id in going:
            together[missed[external_id]].append(external_id)
        for removed_at, ids in together.items():
            tombstone = {"live": False, "removed_at": removed_at, "changed_at": self._now}
            # What a tombstone was is never read; and all that a transaction writes must fit in the server's memory.
            removal = {"$set": tombstone, "$unset": {"place": "", "record": ""}, "$inc": {"version": 1}}
            await self._places.update_many({"_id": {"$in": ids}}, removal, hint="_id_", session=self._session)
        self.removed += [(external_id, version + 1) for external_id, version in going.items()]

    async def _clear(self, step: Clear) -> Did:
        start = f"{step.marks}:{step.after}"
        span = {"_id": {"$gt": start, "$lt": f"{step.marks}:{LAST}"}}
        ids = [mark["_id"] for mark in await self._first(step.limit, self._marks, span, {"_id": 1}, ("_id",), "_id_")]
        if not ids:
            return Did()
        await self._marks.delete_many({"_id": {"$gt": start, "$lte": ids[-1]}}, hint="_id_", session=self._session)
        return Did(len(ids), external_id=ids[-1][len(step.marks) + 1 :])

    async def _note_removals(self, name: str, judged: Judge) -> None:
        mine = {"import": name, **judged._asdict(), "judged_at": self._now}
        await self._removals.replace_one({"_id": self._shard}, mine, upsert=True, session=self._session)

    async def _others(self, name: str) -> Others:
        """A worker that judges another shard of the import meanwhile is in conflict with us, and looks again."""
        lock = {"_id": f"import {name}"}
        await self._removals.update_one(
            lock, {"$inc": {"judged": 1}, "$set": {"judged_at": self._now}}, upsert=True, session=self._session
        )
        mine = {"import": name, "_id": {"$ne": self._shard}}
        found = self._removals.find(mine, {"held": 1, "going": 1}, hint=BY_IMPORT, session=self._session)
        rows = await found.to_list()
        return Others(sum(row["held"] for row in rows), sum(row["going"] for row in rows))
