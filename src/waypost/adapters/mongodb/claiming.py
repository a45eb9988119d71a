"""Claims of jobs: many claimers at once, none of which holds a lock while it looks."""

import random
from collections.abc import Collection, Sequence
from contextlib import suppress

import pymongo
from pymongo import ReturnDocument
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import ConnectionFailure, PyMongoError

from waypost.adapters.errors import StoreRefused
from waypost.adapters.mongodb.database import Document, MongoDatabase, Taken
from waypost.adapters.mongodb.documents import DUE, EXPIRED, LEASE_FIELDS, burying, extending, to_lease, wanted_by
from waypost.adapters.mongodb.offers import Offer
from waypost.adapters.mongodb.schema import LEASED, PENDING, PENDING_BY_GROUP
from waypost.scaling.jobs.job import Lease

_DUE_ORDER = [("priority", -1), ("not_before", 1), ("_id", 1)]
_SEEN = {"priority": 1, "attempts": 1}
# How many times as many candidates as it needs a claimer looks at while others compete.
_FEW = 8
# How many fences a claimer reserves at once.
_BLOCK = 1000
# How long an update may take before we find out what holds it up.
_PATIENCE_SECONDS = 0.5
# After this many lost races a claimer goes and waits; the winners have work.
_ROUNDS = 20


class Claims:
    """First looks for candidates, then takes fences, then leases the candidates that are still as they were."""

    def __init__(self, database: MongoDatabase) -> None:
        self._database = database
        self._jobs = database.jobs
        self._counters = database.counters
        # Whether others took candidates of ours last time. If so, the first ones would be fought over again.
        self._crowded = False
        # Reserved for us: taking them one by one would make all claimers queue for one document.
        self._fences = range(0)
        self._rng = random.Random()  # noqa: S311 - spreads claimers, guards nothing

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None
    ) -> Sequence[Lease]:
        # Jobs whose pages are being committed, even by workers that were killed: the server takes a minute to notice.
        taken: list[str] = []
        for _ in range(_ROUNDS if limit > 0 else 0):
            expired, due = await self._candidates(limit, max_vanished, group, taken)
            if not expired and not due:
                return []
            leases: list[Lease] = []
            try:
                if expired:
                    first = await self._take_fences(len(expired))
                    await self._lease_at_once(Offer(expired, first, owner, lease, max_vanished), leases, taken)
                if due:
                    first = await self._take_fences(len(due))
                    await self._lease(Offer(due, first, owner, lease, max_vanished), leases, taken)
            except (PyMongoError, StoreRefused):
                # What is leased by now would have no holder until it expires. The next claim meets the error again.
                if not leases:
                    raise
            self._crowded = len(leases) < len(expired) + len(due)
            if self._crowded:
                # They may have been refused because a claimer with newer fences had them before.
                self._fences = range(0)
            if leases:
                return sorted(leases, key=lambda each: each.fence)
        return []

    async def _candidates(
        self, limit: int, max_vanished: int, group: str | None, taken: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """Returns ids of jobs whose lease is over, and of jobs that are due."""
        wanted = {**wanted_by(group), **({"_id": {"$nin": list(taken)}} if taken else {})}
        expired = await self._expired(limit, wanted)
        if any(job["attempts"] >= max_vanished for job in expired):
            await self._bury(max_vanished)
            expired = await self._expired(limit, {**wanted, "attempts": {"$lt": max_vanished}})
        ids = self._pick(expired, limit)
        room = limit - len(ids)
        index = PENDING if group is None else PENDING_BY_GROUP
        return ids, self._pick(await self._due(room, wanted, index), room) if room else []

    async def _expired(self, limit: int, wanted: Document) -> list[Document]:
        # The index is named, here and below: the planner would remember a plan that was best when the store was empty.
        found = self._jobs.find({**EXPIRED, **wanted}, _SEEN, hint=LEASED, limit=limit * self._spread)
        return await found.to_list()

    async def _bury(self, max_vanished: int) -> None:
        """Buries jobs that were begun too often; if one of them is taken, the next claim does."""
        spent = {**EXPIRED, "attempts": {"$gte": max_vanished}}
        with suppress(Taken):
            await self._database.transaction(
                lambda session: self._jobs.update_many(spent, burying(), hint=LEASED, session=session), waiting=False
            )

    async def _due(self, limit: int, wanted: Document, index: str) -> list[Document]:
        found = self._jobs.find({**DUE, **wanted}, _SEEN, sort=_DUE_ORDER, hint=index, limit=limit * self._spread)
        return await found.to_list()

    @property
    def _spread(self) -> int:
        return _FEW if self._crowded else 1

    def _pick(self, found: Sequence[Document], room: int) -> list[str]:
        """Picks as many as there is room for: those of higher priority, and at random among equals."""
        drawn = sorted(found, key=lambda job: (-job["priority"], self._rng.random())) if len(found) > room else found
        chosen = {job["_id"] for job in drawn[:room]}
        return [job["_id"] for job in found if job["_id"] in chosen]

    async def _lease(self, offer: Offer, leases: list[Lease], taken: list[str]) -> None:
        """The quick way for a crowd: the second claimer waits for a moment, and leases what is left.

        But it also waits for long transactions, and then it looks like an update on a slow disk, which may have leased
        the jobs.
        """
        try:
            with pymongo.timeout(_PATIENCE_SECONDS):
                await self._jobs.update_many(offer.free, offer.leasing, hint="_id_")
                leases += await self._leased(offer)
                return
        except PyMongoError as error:
            if not error.timeout and not isinstance(error, ConnectionFailure):
                raise
        await self._lease_at_once(offer, leases, taken)

    async def _lease_at_once(self, offer: Offer, leases: list[Lease], taken: list[str]) -> None:
        """Leases without waiting: jobs that others are changing are added to `taken`, the rest to `leases`."""

        async def work(session: AsyncClientSession) -> list[Lease]:
            await self._jobs.update_many(offer.ours, extending(offer.lease), hint="_id_", session=session)
            await self._jobs.update_many(offer.free, offer.leasing, hint="_id_", session=session)
            return await self._leased(offer, session)

        try:
            leases += await self._database.transaction(work, waiting=False)
        except Taken:
            if len(offer.ids) == 1:
                taken += offer.ids
                return
            for half in offer.halves:
                await self._lease_at_once(half, leases, taken)

    async def _leased(self, offer: Offer, session: AsyncClientSession | None = None) -> list[Lease]:
        found = self._jobs.find(offer.ours, LEASE_FIELDS, hint="_id_", session=session)
        return [to_lease(job) async for job in found]

    async def _take_fences(self, count: int) -> int:
        """Returns the first of `count` fences that no lease has had; those that stay unused are skipped for ever."""
        if len(self._fences) < count or not await self._are_ours(self._fences):
            block = max(count, _BLOCK)
            counter = _present(
                await self._counters.find_one_and_update(
                    {"_id": "fence"}, {"$inc": {"last": block}}, return_document=ReturnDocument.AFTER
                )
            )
            self._fences = range(int(counter["last"]) - block + 1, int(counter["last"]) + 1)
        first, self._fences = self._fences[0], self._fences[count:]
        return first

    async def _are_ours(self, fences: range) -> bool:
        """False when another process has raised fences since, or the store was restored from before we took them."""
        counter = _present(await self._counters.find_one({"_id": "fence"}))
        return bool(counter.get("floor", 0) < fences[0] and fences[-1] <= counter["last"])


def _present(counter: Document | None) -> Document:
    if counter is None:
        # Starting again at 1 would make old fences current.
        raise StoreRefused("the counter of fences is gone from the store", next_step="restore the store from a backup")
    return counter
