"""How a shard ends on MongoDB: step by step, inside the transactions that commit them."""

from collections import defaultdict
from collections.abc import Mapping
from typing import assert_never

from pymongo import ReplaceOne
from pymongo.asynchronous.client_session import AsyncClientSession

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.schema import BY_IMPORT, BY_PLACE, BY_SHARD, LIVE
from waypost.importing.pages import Writing
from waypost.importing.passes import (
    Clear,
    Count,
    Did,
    Doubt,
    Forget,
    Gap,
    Judge,
    Pass,
    Remove,
    Step,
    Sweep,
    cost,
    missed_once,
    next_step,
)
from waypost.importing.refusals import MassDelete, Others, import_of, mass_delete
from waypost.kernel.clock import to_us

# Sorts after all ids.
LAST = "\U0010ffff"


class MongoPageEnding:
    """`now` is the store's time."""

    def __init__(
        self, database: MongoDatabase, session: AsyncClientSession, shard: str, writing: Writing, now: int
    ) -> None:
        self._places = database.database.places
        self._candidates = database.database.candidates
        self._marks = database.database.marks
        self._removals = database.database.removals
        self._session = session
        self._shard = shard
        self._writing = writing
        self._now = now
        self.removed: list[tuple[str, int]] = []
        self.refused: MassDelete | None = None

    async def go_on(self, state: Pass) -> Pass:
        """Takes steps as long as there is room in one commit, unless it is refused."""
        room = self._writing.room
        while not self.refused and (step := next_step(state, room)):
            did = await self._do(step)
            room -= cost(step, did)
            state = step.then(state, did)
        return state

    async def strike(self, seen: list[str], requested_at: int) -> None:
        """Drops candidates that the page has: they are not gone, whichever shard missed them."""
        if seen:
            struck = {"external_id": {"$in": seen}, "requested_at": {"$lte": requested_at}}
            await self._candidates.delete_many(struck, hint=BY_PLACE, session=self._session)

    async def gather(self, gap: Gap, seen: list[str]) -> Gap | None:
        """Makes candidates of places that we hold in the gap and a page lacks; returns what is left of the gap."""
        did = await self._sweep(gap, frozenset(seen), self._writing.room)
        return gap.left_by(did, self._writing.room)

    async def mark(self, name: str, positions: Mapping[str, int]) -> dict[str, int]:
        """Marks what the pass sees; returns those that it has seen before, and where."""
        before = await self._marked(name, list(positions))
        again = {each: before[each] for each in before if before[each] > 0 or positions[each] < 0}
        fresh = [
            {"_id": f"{name}:{external_id}", "position": position}
            for external_id, position in positions.items()
            if external_id not in before
        ]
        if fresh:
            await self._marks.insert_many(fresh, ordered=False, session=self._session)
        changed = [
            ReplaceOne({"_id": f"{name}:{external_id}"}, {"position": positions[external_id]})
            for external_id in before.keys() - again.keys()
        ]
        if changed:
            await self._marks.bulk_write(changed, ordered=False, session=self._session)
        return again

    async def _do(self, step: Step) -> Did:
        match step:
            case Sweep():
                did = await self._sweep(step.gap, step.marks, step.limit)
            case Doubt():
                found = await self._next_candidates(step.after, step.limit)
                await self._doubt(found)
                did = _did(found)
            case Count():
                found = await self._next_candidates(step.after, step.limit)
                did = _did(found, going=len(await self._going(found)))
            case Judge():
                self.refused = await self._judge(step)
                did = Did()
            case Remove():
                found = await self._next_candidates(step.after, step.limit)
                await self._bury(found, await self._going(found))
                did = await self._forget(found, step.after)
            case Forget():
                did = await self._forget(await self._next_candidates(step.after, step.limit), step.after)
            case Clear():
                did = await self._clear(step)
            case _:
                assert_never(step)
        return did

    async def _sweep(self, gap: Gap, seen: frozenset[str] | str, limit: int) -> Did:
        """`seen` has the ids that were seen, or the name of their marks."""
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
        found = self._places.find(
            places,
            {"_id": 1, "number": 1},
            sort=[("number", 1), ("_id", 1)],
            limit=limit,
            batch_size=limit + 1,
            hint=LIVE,
            session=self._session,
        )
        return await found.to_list()

    async def _marked(self, name: str, external_ids: list[str]) -> dict[str, int]:
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
        found = self._candidates.find(
            {"shard": self._shard, "external_id": {"$gt": after}},
            {"_id": 0, "external_id": 1, "requested_at": 1},
            sort=[("external_id", 1)],
            limit=limit,
            batch_size=limit + 1,
            hint=BY_SHARD,
            session=self._session,
        )
        return {candidate["external_id"]: candidate["requested_at"] async for candidate in found}

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

    async def _forget(self, found: Mapping[str, int], after: str) -> Did:
        did = _did(found)
        if found:
            span = {"shard": self._shard, "external_id": {"$gt": after, "$lte": did.external_id}}
            await self._candidates.delete_many(span, hint=BY_SHARD, session=self._session)
        return did

    async def _clear(self, step: Clear) -> Did:
        start = f"{step.marks}:{step.after}"
        span = {"_id": {"$gt": start, "$lt": f"{step.marks}:{LAST}"}}
        found = self._marks.find(
            span,
            {"_id": 1},
            sort=[("_id", 1)],
            limit=step.limit,
            batch_size=step.limit + 1,
            hint="_id_",
            session=self._session,
        )
        ids = [mark["_id"] async for mark in found]
        if not ids:
            return Did()
        await self._marks.delete_many({"_id": {"$gt": start, "$lte": ids[-1]}}, hint="_id_", session=self._session)
        return Did(len(ids), external_id=ids[-1][len(step.marks) + 1 :])

    async def _judge(self, judged: Judge) -> MassDelete | None:
        name, others = import_of(self._shard), Others()
        if name and judged.going:
            others = await self._others(name)
        refused = mass_delete(self._shard, self._writing, judged, others)
        if name and not refused:
            mine = {"import": name, **judged._asdict(), "judged_at": self._now}
            await self._removals.replace_one({"_id": self._shard}, mine, upsert=True, session=self._session)
        return refused

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


def _did(found: Mapping[str, int], going: int = 0) -> Did:
    return Did(len(found), external_id=max(found, default=""), going=going)
