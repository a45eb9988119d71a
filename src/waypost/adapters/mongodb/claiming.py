"""Claims of jobs: many claimers at once, none of whom holds a lock while it looks."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pymongo
from pymongo import ReturnDocument
from pymongo.errors import ConnectionFailure, PyMongoError

from waypost.adapters.errors import StoreRefused
from waypost.adapters.mongodb.database import Document, MongoDatabase
from waypost.adapters.mongodb.documents import (
    DUE,
    EXPIRED,
    LEASE_FIELDS,
    burying,
    claimable,
    leasing,
    to_lease,
    wanted_by,
)
from waypost.adapters.mongodb.schema import LEASED, PENDING, PENDING_BY_GROUP
from waypost.scaling.jobs.job import Lease

_DUE_ORDER = [("priority", -1), ("not_before", 1), ("_id", 1)]
_SEEN = {"priority": 1, "attempts": 1}
# How many times more candidates than it needs a claimer looks at while others are about.
_FEW = 8
# How many fences a claimer reserves at once.
_BLOCK = 1000
# How long to wait for jobs that somebody holds: for many together, and then for each of them.
_MANY_SECONDS, _ONE_SECONDS = 0.5, 0.1
# After so many lost races a claimer goes and waits; those who won them have work.
_ROUNDS = 20


class _Held(Exception):
    """No error: somebody is just committing a page of the job."""


@contextmanager
def _not_waiting(seconds: float) -> Iterator[None]:
    """A job whose page is being committed is held by that transaction, and by one that was killed in the middle until
    the server ends it, which takes a minute. Whoever waits for it does nothing else meanwhile.
    """
    try:
        with pymongo.timeout(seconds):
            yield
    except PyMongoError as error:
        if not error.timeout:
            raise
        raise _Held from None


class Claims:
    """First it looks for candidates, then it takes fences, then it leases those that are still as they were."""

    def __init__(self, database: MongoDatabase) -> None:
        self._jobs = database.jobs
        self._counters = database.counters
        # Whether others took candidates of ours last time. Then the first ones would be fought over again.
        self._crowded = False
        # Reserved for us: taking them one by one would make all claimers queue for one document.
        self._fences = range(0)
        self._rng = random.Random()  # noqa: S311 - spreads claimers, guards nothing

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_attempts: int, group: str | None
    ) -> Sequence[Lease]:
        for _ in range(_ROUNDS if limit > 0 else 0):
            ids = await self._candidates(limit, max_attempts, group)
            if not ids:
                return []
            try:
                leases = await self._lease(ids, owner, lease, max_attempts)
            except _Held:
                return []
            self._crowded = len(leases) < len(ids)
            if self._crowded:
                # They may have been refused because somebody with newer fences had them before.
                self._fences = range(0)
            if leases:
                return leases
        return []

    async def _candidates(self, limit: int, max_attempts: int, group: str | None) -> list[str]:
        expired = await self._expired(limit, group)
        if any(job["attempts"] >= max_attempts for job in expired):
            with suppress(_Held), _not_waiting(_MANY_SECONDS):
                await self._jobs.update_many({**EXPIRED, "attempts": {"$gte": max_attempts}}, burying(), hint=LEASED)
            expired = await self._expired(limit, group)
        ids = self._pick(expired, limit)
        room = limit - len(ids)
        return ids + self._pick(await self._due(room, group), room) if room else ids

    async def _expired(self, limit: int, group: str | None) -> list[Document]:
        # The index is named, here and below: the planner would remember a plan that was best when the store was empty.
        found = self._jobs.find({**EXPIRED, **wanted_by(group)}, _SEEN, hint=LEASED, limit=limit * self._spread)
        return await found.to_list()

    async def _due(self, limit: int, group: str | None) -> list[Document]:
        index = PENDING if group is None else PENDING_BY_GROUP
        found = self._jobs.find(
            {**DUE, **wanted_by(group)}, _SEEN, sort=_DUE_ORDER, hint=index, limit=limit * self._spread
        )
        return await found.to_list()

    @property
    def _spread(self) -> int:
        return _FEW if self._crowded else 1

    def _pick(self, found: Sequence[Document], room: int) -> list[str]:
        """As many as there is room for: those of higher priority, and at random among equals."""
        drawn = sorted(found, key=lambda job: (-job["priority"], self._rng.random())) if len(found) > room else found
        chosen = {job["_id"] for job in drawn[:room]}
        return [job["_id"] for job in found if job["_id"] in chosen]

    async def _lease(self, ids: Sequence[str], owner: str, lease: float, max_attempts: int) -> list[Lease]:
        """Raises _Held for a single job that is."""
        first = await self._take_fences(len(ids))
        free = claimable(ids, below=first, max_attempts=max_attempts)
        update = leasing(ids, owner=owner, lease=lease, first_fence=first)
        try:
            if len(ids) == 1:
                return await self._lease_one(free, update)
            with _not_waiting(_MANY_SECONDS):
                await self._jobs.update_many(free, update, hint="_id_")
            leases = await self._leased(ids, first)
        except ConnectionFailure:
            # The driver does not retry an update of many; but whatever it did bears our fences, so that we can look.
            leases = await self._leased(ids, first)
        except _Held:
            leases = await self._leased(ids, first)
            if len(ids) == 1 and not leases:
                raise
            taken = {each.job_id for each in leases}
            leases += await self._lease_each([each for each in ids if each not in taken], owner, lease, max_attempts)
        return sorted(leases, key=lambda each: each.fence)

    async def _lease_one(self, free: Document, update: list[Document]) -> list[Lease]:
        with _not_waiting(_ONE_SECONDS):
            leased = await self._jobs.find_one_and_update(
                free, update, LEASE_FIELDS, return_document=ReturnDocument.AFTER, hint="_id_"
            )
        return [to_lease(leased)] if leased else []

    async def _leased(self, ids: Sequence[str], first: int) -> list[Lease]:
        ours: Document = {"_id": {"$in": ids}, "status": "leased", "fence": {"$gte": first, "$lt": first + len(ids)}}
        return [to_lease(job) async for job in self._jobs.find(ours, LEASE_FIELDS, hint="_id_")]

    async def _lease_each(self, ids: Sequence[str], owner: str, lease: float, max_attempts: int) -> list[Lease]:
        """One by one, without those that are held."""
        leases = []
        for job_id in ids:
            with suppress(_Held):
                leases += await self._lease([job_id], owner, lease, max_attempts)
        return leases

    def forget_fences(self) -> None:
        """Those reserved may be too low now."""
        self._fences = range(0)

    async def _take_fences(self, count: int) -> int:
        """The first of so many fences that no lease has had; those that stay unused are skipped for ever."""
        if len(self._fences) < count:
            block = max(count, _BLOCK)
            counter = await self._counters.find_one_and_update(
                {"_id": "fence"}, {"$inc": {"last": block}}, return_document=ReturnDocument.AFTER
            )
            if counter is None:
                # Starting again at 1 would make old fences current.
                raise StoreRefused(
                    "the counter of fences is gone from the store", next_step="restore the store from a backup"
                )
            self._fences = range(int(counter["last"]) - block + 1, int(counter["last"]) + 1)
        first, self._fences = self._fences[0], self._fences[count:]
        return first
