"""Jobs and leases on Redis: every change is one script, hence atomic; see lua/prologue.lua for the keys.

They are as durable as the server's persistence. With `appendfsync everysec` a crash may forget the last second: an
enqueued job is gone until it is scheduled again, a job that was done is done once more, and a lease that was given out
is worth nothing. Fences start at the server's clock, so they do not come again; and the place store refuses a worker
with an old one. The server must not evict keys (`maxmemory-policy noeviction`).
"""

from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, cast

from waypost.adapters.redis.client import Argument, RedisClient
from waypost.adapters.redis.job_records import (
    Index,
    by_group,
    by_prefix,
    by_status,
    counters,
    json,
    microseconds,
    new_job_arguments,
    pairs,
    to_job,
)
from waypost.adapters.redis.scripts import load_scripts
from waypost.kernel.errors import AskedWrongly
from waypost.scaling.jobs.job import STATUSES, Done, Failure, Job, Lease, LeaseLost, NewJob, Renewed, Status, Tally
from waypost.scaling.jobs.store import Capabilities

SCRIPTS = load_scripts("lua/jobs")

# What one script call takes on, so that no call keeps all others waiting for long (some 20 ms).
_CHUNK = 1000


class RedisJobStore:
    """The jobs of one namespace. Calls that take many jobs are atomic for each thousand of them."""

    capabilities = Capabilities(notifies=True, durable=True)

    def __init__(self, client: RedisClient, namespace: str = "waypost") -> None:
        if not namespace or set(namespace) & set("{}"):
            raise AskedWrongly(f"{namespace!r} is not a namespace in Redis; it must have letters and no braces")
        self._client = client
        # In braces: the part of a key that decides where in a cluster it lives.
        self._root = f"{{{namespace}}}:jobs"
        self._wake = client.listener(f"{self._root}:wake")

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        groups = json([] if group is None else [group])
        return sum([await self._run("enqueue", new_job_arguments(chunk), groups) for chunk in _chunks(jobs)])

    async def cancel(self, group: str) -> int:
        cancelled = 0
        while True:
            found, ended = await self._run("cancel", group, _CHUNK)
            if not found:
                return cancelled
            cancelled += ended

    async def claim(
        self, owner: str, *, limit: int, lease: float, max_vanished: int, group: str | None = None
    ) -> Sequence[Lease]:
        pool = "" if group is None else f":{group}"
        rows = await self._run("claim", owner, limit, microseconds(lease), max_vanished, pool)
        return [Lease(*row) for row in rows]

    async def wait(self, seconds: float) -> None:
        """Waits until a script of any process makes a job claimable. Time makes jobs claimable too, without a word."""
        await self._wake.wait(seconds)

    async def renew(self, leases: Collection[Lease], *, lease: float) -> Renewed:
        kept: set[str] = set()
        for chunk in _chunks(list(leases)):
            held = json([{"id": each.job_id, "fence": each.fence} for each in chunk])
            kept.update(await self._run("renew", held, microseconds(lease)))
        return Renewed(kept)

    async def checkpoint(self, lease: Lease, *, cursor: str | None, counted: Mapping[str, int]) -> None:
        await self._run_held("checkpoint", lease, counted, *([] if cursor is None else [cursor]))

    async def complete(self, done: Sequence[Done]) -> set[str]:
        kept: set[str] = set()
        for chunk in _chunks(done):
            acks = [{"id": ack.lease.job_id, "fence": ack.lease.fence, "counted": ack.counted} for ack in chunk]
            kept.update(await self._run("complete", json(acks)))
        return kept

    async def split(self, lease: Lease, shards: Sequence[str], *, counted: Mapping[str, int]) -> None:
        await self._run_held("split", lease, counted, new_job_arguments([NewJob(shard) for shard in shards]))

    async def fail(self, lease: Lease, failure: Failure, *, retry_in: float | None, counted: Mapping[str, int]) -> None:
        again = [] if retry_in is None else [microseconds(retry_in)]
        await self._run_held("fail", lease, counted, failure.code, failure.message, *again)

    async def release(
        self, lease: Lease, *, counted: Mapping[str, int], delay: float = 0.0, why: Failure | None = None
    ) -> None:
        said = [why.code, why.message] if why else []
        await self._run_held("release", lease, counted, microseconds(delay), *said)

    async def release_owner(self, owner: str, *, max_vanished: int) -> int:
        released = 0
        async for ids in self._walk(by_status("leased"), _CHUNK):
            released += await self._run("release_owned", owner, json(ids), max_vanished)
        return released

    async def revive(self, shards: Collection[str] | None = None) -> int:
        if shards is not None:
            return await self._reopen(shards, "dead")
        walk = self._walk(by_status("dead"), _CHUNK)
        return sum([await self._run("revive", json(ids), "dead") async for ids in walk])

    async def redo(self, shards: Collection[str]) -> int:
        return await self._reopen(shards, "done")

    async def _reopen(self, shards: Collection[str], status: Status) -> int:
        found = [await self._run("find", json(chunk)) for chunk in _chunks(list(shards))]
        return sum([await self._run("revive", json(ids), status) for ids in found])

    async def prune(
        self,
        *,
        older_than: float,
        statuses: Collection[Status] = ("done", "cancelled"),
        prefix: str = "",
        limit: int | None = None,
    ) -> int:
        before = await self._client.now_us(self._root) - microseconds(older_than)
        pruned = 0
        for status in statuses:
            # Those that stay are passed over; when others prune too, some may be missed until the next time.
            passed, found, most = 0, 0, 0
            while found == most and (most := _CHUNK if limit is None else min(_CHUNK, limit - pruned)):
                found, gone = await self._run("prune", status, before, most, prefix, passed)
                pruned += gone
                passed += found - gone
        return pruned

    async def get(self, shard_or_id: str) -> Job | None:
        job_id, record = await self._run("get", shard_or_id)
        return to_job(job_id, record) if record else None

    async def list(
        self, *, status: Status | None = None, group: str | None = None, prefix: str = "", limit: int = 100
    ) -> Sequence[Job]:
        """Not a view of one moment: jobs that change their status meanwhile may be seen before or after."""
        index = await self._smallest(status, group, prefix)
        plain = index == by_status(status) and group is None and not prefix
        found: list[Job] = []
        # Without more to ask for, every job of the index fits, and no more need to be looked at than are wanted.
        async for ids in self._walk(index, min(max(limit, 1), _CHUNK) if plain else _CHUNK):
            wanted: list[Argument] = [status or "", prefix, limit - len(found)]
            wanted += [] if group is None else [group]
            found += [to_job(*row) for row in await self._run("read", json(ids), *wanted)]
            if len(found) >= limit:
                break
        return found

    async def count(self) -> Mapping[Status, int]:
        numbers = await self._run("count", *STATUSES)
        return {status: number for status, number in zip(STATUSES, numbers, strict=True) if number}

    async def tally(self, group: str) -> Tally:
        fields = pairs(await self._run("tally", group))
        jobs = {status: int(fields.get(f"status:{status}", 0)) for status in STATUSES}
        return Tally({status: number for status, number in jobs.items() if number > 0}, Counter(counters(fields)))

    async def raise_fences(self, above: int) -> None:
        """Makes all new fences larger than this one, which is the highest that another store has seen."""
        await self._run("raise_fences", above)

    async def _run(self, script: str, *arguments: Argument) -> Any:
        return await self._client.run(SCRIPTS[script], self._root, *arguments)

    async def _run_held(self, script: str, lease: Lease, counted: Mapping[str, int], *arguments: Argument) -> None:
        """Runs a change of a leased job, which its fence must allow."""
        if not await self._run(script, lease.job_id, lease.fence, json(counted), *arguments):
            raise LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is no longer ours")

    async def _smallest(self, status: Status | None, group: str | None, prefix: str) -> Index:
        """The index with the least to look through, of those that have all the answers."""
        indexes = [by_status(status)]
        if group is not None:
            indexes.append(by_group(group))
        if prefix:
            indexes.append(by_prefix(prefix))
        if len(indexes) == 1:
            return indexes[0]
        asked = [part for index in indexes for part in (index.suffix, index.first, index.last)]
        sizes = cast("Sequence[int]", await self._run("sizes", *asked))
        return min(zip(sizes, indexes, strict=True), key=lambda pair: pair[0])[1]

    async def _walk(self, index: Index, chunk: int) -> AsyncIterator[Sequence[str]]:
        """The ids in an index, in the order of enqueueing; what enters or leaves it meanwhile may be among them."""
        names: list[str] = []
        first = index.first
        while found := await self._run("walk", index.suffix, first, index.last, chunk):
            if index.in_order:
                yield found
            else:
                names += found
            if len(found) < chunk:
                break
            first = b"(" + found[-1].encode()
        for rest in _chunks(sorted(index.id_of(name) for name in names)):
            yield rest


def _chunks(items: Sequence[Any]) -> Sequence[Sequence[Any]]:
    return [items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK)]
