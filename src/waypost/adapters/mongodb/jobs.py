"""Jobs and leases on MongoDB."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial

from pymongo import ReturnDocument, UpdateMany
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import ConnectionFailure

from waypost.adapters.mongodb import documents
from waypost.adapters.mongodb.claiming import Claims
from waypost.adapters.mongodb.database import Document, MongoDatabase, Taken
from waypost.adapters.mongodb.errors import at_the_border
from waypost.adapters.mongodb.schema import ENDED, GROUPS
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import Done, Failure, Job, Lease, LeaseLost, NewJob, Renewed, Status, Tally
from waypost.scaling.jobs.store import Capabilities

# Seconds for what a worker waits for, and for what reads or changes a large part of the store.
_QUICK, _LONG = 10, 60
# Jobs that are enqueued in one transaction: a larger one would have to fit in the server's cache.
_AT_ONCE = 1000
_AGAIN = {"status": "pending", "attempts": 0, "failures": 0, "finished_at": None}
_DUE_AGAIN = {**_AGAIN, "not_before": "$$NOW"}
# What a changed job tells: who wants it, and what time it is.
_TOLD = {"groups.group": 1, "groups.cancelled": 1, "now": "$$NOW"}


class MongoJobStore:
    capabilities = Capabilities(notifies=True, durable=True)

    def __init__(self, database: MongoDatabase) -> None:
        self._database = database
        self._jobs = database.jobs
        self._claims = Claims(database)

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        """Adds a job and its group's wish for it in one atomic step; a thousand jobs too, but not more.

        When it fails half way, enqueueing the same jobs again adds the rest.
        """
        groups = [] if group is None else [group]
        parts = [jobs[start : start + _AT_ONCE] for start in range(0, len(jobs), _AT_ONCE)]
        return sum([await self._add_together(part, groups) for part in parts])

    @at_the_border(_LONG)
    async def cancel(self, group: str) -> int:
        """Atomic for each job, whose document also knows who wants it; a transaction that touches it too waits or
        starts again. Repeated until nothing is left, because others may leave a job, or cut it into parts, meanwhile.
        """
        unfinished, others = documents.cancellable(group), documents.wanted_by_others(group)
        alone = {"$and": [unfinished, {"groups": {"$not": others}}]}
        shared = {"$and": [unfinished, {"groups": others}]}
        cancelled = 0
        while await self._jobs.find_one(unfinished, {"_id": 1}, hint=GROUPS):
            cancelled += (await self._jobs.update_many(alone, documents.cancelling(group), hint=GROUPS)).modified_count
            await self._jobs.update_many(shared, documents.leaving(group), hint=GROUPS)
        return cancelled

    @at_the_border(_QUICK)
    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None = None
    ) -> Sequence[Lease]:
        return await self._claims.claim(owner, limit=limit, lease=lease, max_vanished=max_vanished, group=group)

    async def wait(self, seconds: float) -> None:
        await self._database.arrivals.wait(seconds)

    @at_the_border(_QUICK)
    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        return await self._renew_free(list(leases), lease)

    async def _renew_free(self, leases: Sequence[Lease], lease: float) -> Renewed:
        """Renews all but those that are taken, because a page of the job is being committed: others do not wait."""
        try:
            return Renewed(await self._renew(leases, lease))
        except Taken:
            if len(leases) == 1:
                return Renewed(set(), {leases[0].job_id})
        middle = len(leases) // 2
        one, other = [await self._renew_free(half, lease) for half in (leases[:middle], leases[middle:])]
        return Renewed(one.kept | other.kept, one.busy | other.busy)

    async def _renew(self, leases: Sequence[Lease], lease: float) -> set[str]:
        """Returns ids of those that are current, or raises Taken."""
        current = documents.all_held(leases)

        async def work(session: AsyncClientSession) -> set[str]:
            renewed = await self._jobs.update_many(current, documents.extending(lease), hint="_id_", session=session)
            if renewed.matched_count == len(leases):
                return {each.job_id for each in leases}
            found = self._jobs.find(current, {"_id": 1}, hint="_id_", session=session)
            return {job["_id"] async for job in found}

        return await self._database.transaction(work, waiting=False)

    @at_the_border(_QUICK)
    async def checkpoint(self, lease: Lease, *, cursor: str | None, counted: Mapping[str, int]) -> None:
        await self.change(lease, documents.counting(counted, cursor=documents.literal(cursor), attempts=0, failures=0))

    @at_the_border(_QUICK)
    async def complete(self, done: Sequence[Done]) -> set[str]:
        if not done:
            return set()
        # Jobs that were done before, by an acknowledgement whose reply was lost, bear another mark.
        mark = str(new_id())
        acks = _acknowledgements(done, mark)
        ids = {ack.lease.job_id for ack in done}
        try:
            ended = await self._jobs.bulk_write(acks, ordered=False)
            if ended.matched_count == len(ids):
                return ids
        except ConnectionFailure:
            # The driver does not retry updates of many; but what is done is no longer leased, so it is not done twice.
            await self._jobs.bulk_write(acks, ordered=False)
        ours = {"_id": {"$in": list(ids)}, "ended_by": mark}
        return {job["_id"] async for job in self._jobs.find(ours, {"_id": 1}, hint="_id_")}

    @at_the_border(_QUICK)
    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        await self._database.transaction(lambda session: self.split_in(session, lease, shards, counted))

    async def split_in(
        self, session: AsyncClientSession, lease: Lease, shards: Sequence[str], counted: Mapping[str, int]
    ) -> None:
        ended = await self.change(lease, documents.ending("done", counted), session)
        groups = [membership["group"] for membership in ended["groups"] if not membership.get("cancelled")]
        await self._add([NewJob(shard) for shard in shards], groups, session)

    @at_the_border(_QUICK)
    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        update = documents.ending(
            "dead" if retry_in is None else "pending",
            counted,
            delay=retry_in or 0.0,
            failures={"$add": ["$failures", 1]},
            **_said(failure),
        )
        await self.change(lease, update)

    @at_the_border(_QUICK)
    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        said = _said(why) if why else {}
        await self.change(lease, documents.ending("pending", counted, delay=delay, attempts=0, **said))

    @at_the_border(_QUICK)
    async def release_owner(self, owner: str, *, max_vanished: int) -> int:
        left = {"status": "leased", "lease_owner": owner}
        buried = await self._jobs.update_many({**left, "attempts": {"$gte": max_vanished}}, documents.burying())
        released = await self._jobs.update_many(left, {"$set": {**documents.NO_LEASE, "status": "pending"}})
        return buried.modified_count + released.modified_count

    @at_the_border(_QUICK)
    async def raise_fences(self, above: int) -> None:
        await self._database.counters.update_one({"_id": "fence"}, {"$max": {"last": above, "floor": above}})

    @at_the_border(_LONG)
    async def revive(self, shards: Collection[str] | None = None) -> int:
        dead: Document = {"status": "dead"}
        if shards is not None:
            dead["shard"] = {"$in": list(shards)}
        return (await self._jobs.update_many(dead, [{"$set": _DUE_AGAIN}])).modified_count

    @at_the_border(_LONG)
    async def redo(self, shards: Collection[str]) -> int:
        done: Document = {"status": "done", "shard": {"$in": list(shards)}}
        return (await self._jobs.update_many(done, [{"$set": {**_DUE_AGAIN, "cursor": None}}])).modified_count

    @at_the_border(_LONG)
    async def prune(
        self,
        *,
        older_than: float,
        statuses: Collection[Status] = ("done", "cancelled"),
        prefix: str = "",
        limit: int | None = None,
    ) -> int:
        # A key that is enqueued again has no fence to compare with: blocks reserved before now must not be used for it.
        await self._database.counters.update_one({"_id": "fence"}, [{"$set": {"floor": "$last"}}])
        before = await self._database.now() - timedelta(seconds=older_than)
        pruned = 0
        for status in statuses:
            old = {"status": status, "finished_at": {"$lt": before}, **_beginning(prefix)}
            pruned += await self._prune(old, None if limit is None else limit - pruned)
        return pruned

    async def _prune(self, old: Document, limit: int | None) -> int:
        """Prunes in bites, none of which takes long."""
        pruned = 0
        # A limit of 0 would be none.
        while most := _AT_ONCE if limit is None else min(_AT_ONCE, limit - pruned):
            found = self._jobs.find(old, {"_id": 1}, sort=[("finished_at", 1)], limit=most, hint=ENDED)
            if not (ids := [each["_id"] async for each in found]):
                break
            pruned += (await self._jobs.delete_many({"_id": {"$in": ids}, **old}, hint="_id_")).deleted_count
        return pruned

    @at_the_border(_QUICK)
    async def get(self, shard_or_id: str) -> Job | None:
        found = await self._jobs.find_one({"$or": [{"_id": shard_or_id}, {"shard": shard_or_id}]})
        return documents.to_job(found) if found else None

    @at_the_border(_LONG)
    async def list(
        self, *, status: Status | None = None, group: str | None = None, prefix: str = "", limit: int = 100
    ) -> Sequence[Job]:
        wanted = documents.of_group(group)
        if status is not None:
            wanted["status"] = status
        wanted |= _beginning(prefix)
        if limit <= 0:
            return []
        return [documents.to_job(found) async for found in self._jobs.find(wanted, sort=[("_id", 1)], limit=limit)]

    @at_the_border(_LONG)
    async def count(self) -> Mapping[Status, int]:
        rows = await self._jobs.aggregate([{"$group": {"_id": "$status", "jobs": {"$sum": 1}}}])
        return {row["_id"]: row["jobs"] async for row in rows}

    @at_the_border(_LONG)
    async def tally(self, group: str) -> Tally:
        jobs: Counter[Status] = Counter()
        counters: Counter[str] = Counter()
        async for row in await self._jobs.aggregate(documents.tallying(group)):
            if counter := row["_id"]["counter"]:
                counters[counter] += row["sum"]
            else:
                jobs[row["_id"]["status"]] += row["sum"]
        return Tally(jobs, counters)

    async def change(
        self, lease: Lease, update: Sequence[Document], session: AsyncClientSession | None = None
    ) -> Document:
        """Makes a fenced write, as every change of a leased job is. Returns the job after it, or raises LeaseLost."""
        changed = await self._jobs.find_one_and_update(
            documents.held(lease), update, _TOLD, return_document=ReturnDocument.AFTER, hint="_id_", session=session
        )
        if changed is None:
            raise LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is no longer ours")
        return changed

    @at_the_border(_QUICK)
    async def _add_together(self, jobs: Sequence[NewJob], groups: Sequence[str]) -> int:
        return await self._database.transaction(partial(self._add, jobs, groups))

    async def _add(self, jobs: Sequence[NewJob], groups: Sequence[str], session: AsyncClientSession) -> int:
        # A shard that is named twice is wanted once, as it was named first.
        wanted = {job.shard: job for job in reversed(jobs)}
        named = {"shard": {"$in": list(wanted)}}
        known = {job["shard"] async for job in self._jobs.find(named, {"_id": 0, "shard": 1}, session=session)}
        added = 0
        if known:
            again = {**named, "status": "cancelled"}
            revived = await self._jobs.update_many(again, {"$set": _AGAIN}, session=session)
            added += revived.modified_count
            for group in groups:
                await self._jobs.update_many(
                    {**named, **documents.not_wanted_by(group)}, documents.joining(group), session=session
                )
        fresh = [job for job in reversed(wanted.values()) if job.shard not in known]
        if fresh:
            now = await self._database.now(session)
            await self._jobs.insert_many([documents.new_document(job, now, groups) for job in fresh], session=session)
        return added + len(fresh)


def _beginning(prefix: str) -> Document:
    """Shards from the prefix itself to the prefix with the last of all characters behind it."""
    return {"shard": {"$gte": prefix, "$lt": prefix + "\U0010ffff"}} if prefix else {}


def _said(failure: Failure) -> Document:
    return {
        "last_error_code": documents.literal(failure.code),
        "last_error_message": documents.literal(failure.message),
        "last_error_at": "$$NOW",
    }


def _acknowledgements(done: Sequence[Done], mark: str) -> list[UpdateMany]:
    """Makes one update for all jobs that counted the same: several times as fast as one for each."""
    alike: dict[frozenset[tuple[str, int]], list[Lease]] = defaultdict(list)
    for ack in done:
        alike[frozenset(ack.counted.items())].append(ack.lease)
    return [
        UpdateMany(documents.all_held(leases), documents.ending("done", dict(counted), ended_by=mark), hint="_id_")
        for counted, leases in alike.items()
    ]
