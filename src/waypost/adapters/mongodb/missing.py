"""What a provider no longer has: remembered page by page, and removed in the transaction that ends the shard."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pymongo.asynchronous.client_session import AsyncClientSession

from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.moments import to_us
from waypost.adapters.mongodb.schema import BY_PLACE, BY_SHARD, LIVE
from waypost.importing.cuts import IdRange
from waypost.importing.pages import MassDelete, Writing, refuse_mass_delete

# Ids in one command, which may not be larger than a document.
_AT_ONCE = 50_000

# What a transaction writes must fit in the server's memory, and be done before the lease has run out.
_MOST_REMOVED = 50_000

_Versions = list[tuple[str, int]]


class Missing:
    """One shard's candidates for removal, inside the transaction that commits a page of it."""

    def __init__(self, database: MongoDatabase, session: AsyncClientSession, shard: str, writing: Writing) -> None:
        self._places = database.database.places
        self._candidates = database.database.candidates
        self._session = session
        self._shard = shard
        self._writing = writing
        self._requested_at = to_us(writing.requested_at)

    async def strike(self, seen: list[str]) -> None:
        """What the page has is not gone, whoever missed it before."""
        if seen:
            struck = {"external_id": {"$in": seen}, "requested_at": {"$lte": self._requested_at}}
            await self._candidates.delete_many(struck, hint=BY_PLACE, session=self._session)

    async def lacking(self, covers: IdRange, seen: list[str]) -> list[str]:
        """What we hold of the numbers that the page covers, and it lacks."""
        gone = {**self._held(covers), "requested_at": {"$lte": self._requested_at}, "_id": {"$nin": seen}}
        found = self._places.find(gone, {"_id": 1}, hint=LIVE, session=self._session)
        return [place["_id"] async for place in found]

    async def remember(self, lacking: Sequence[str]) -> None:
        """Until the shard ends; those that were missing before have their time already."""
        for ids in _portions(lacking):
            before = await self._candidates_among(ids)
            fresh = [
                {"shard": self._shard, "external_id": external_id, "requested_at": self._requested_at}
                for external_id in ids
                if external_id not in before
            ]
            if fresh:
                await self._candidates.insert_many(fresh, ordered=False, session=self._session)

    async def remove(self, lacking: Sequence[str], now: int) -> _Versions:
        """The shard ends with a page that lacks these too: all go, unless somebody has seen them since."""
        before = await self._candidates_among(None)
        missed = dict.fromkeys(lacking, self._requested_at) | before
        going = await self._going(missed)
        if going:
            held = self._held(self._writing.extent.numbers)
            count = await self._places.count_documents(held, hint=LIVE, session=self._session)
            refuse_mass_delete(self._shard, self._writing, going=len(going), held=count)
            _refuse_too_many(self._shard, len(going))
            await self._bury(going, missed, now)
        if before:
            await self.forget()
        return sorted((external_id, version + 1) for external_id, version in going.items())

    async def forget(self) -> None:
        await self._candidates.delete_many({"shard": self._shard}, hint=BY_SHARD, session=self._session)

    async def _candidates_among(self, ids: Sequence[str] | None) -> dict[str, int]:
        """Of the shard, with the times at which they were missed first; all of them for None."""
        mine: Document = {"shard": self._shard} | ({} if ids is None else {"external_id": {"$in": ids}})
        fields = {"_id": 0, "external_id": 1, "requested_at": 1}
        found = self._candidates.find(mine, fields, hint=BY_SHARD, session=self._session)
        return {candidate["external_id"]: candidate["requested_at"] async for candidate in found}

    async def _going(self, missed: Mapping[str, int]) -> dict[str, int]:
        """Those that would be removed, with the versions that they have."""
        extent = self._writing.extent
        going = {}
        for ids in _portions(list(missed)):
            here = {"_id": {"$in": ids}, "live": True, "source": extent.source, "area": extent.area}
            seen = {"requested_at": 1, "version": 1}
            async for place in self._places.find(here, seen, hint="_id_", session=self._session):
                if place["requested_at"] <= missed[place["_id"]]:
                    going[place["_id"]] = place["version"]
        return going

    async def _bury(self, going: Mapping[str, int], missed: Mapping[str, int], now: int) -> None:
        together = defaultdict(list)
        for external_id in going:
            together[missed[external_id]].append(external_id)
        for removed_at, external_ids in together.items():
            tombstone = {"live": False, "removed_at": removed_at, "changed_at": now}
            # Nobody reads what a tombstone was; and all that a transaction writes must fit in the server's memory.
            removal = {"$set": tombstone, "$unset": {"place": "", "record": ""}, "$inc": {"version": 1}}
            for ids in _portions(external_ids):
                await self._places.update_many({"_id": {"$in": ids}}, removal, hint="_id_", session=self._session)

    def _held(self, numbers: IdRange) -> Document:
        """What we hold of the shard's area in this range."""
        extent = self._writing.extent
        until = {} if numbers.end is None else {"$lt": numbers.end}
        return {"live": True, "source": extent.source, "area": extent.area, "number": {"$gte": numbers.start, **until}}


def _refuse_too_many(shard: str, going: int) -> None:
    if going > _MOST_REMOVED:
        raise MassDelete(
            f"{shard}: {going} places would go at once, and MongoDB takes no more than {_MOST_REMOVED};"
            " lower import.max_pages, so that shards are cut smaller, or keep places in PostgreSQL"
        )


def _portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]
