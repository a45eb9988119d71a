"""Clients that use leases in every way there is, at once, each with a thread and a connection of its own."""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from support.leases.history import NEVER, Answer, Asked, History, Operation, as_seen
from support.leases.laws import GROUPS, LEASE, MAX_ATTEMPTS, PRUNE_AFTER
from waypost.kernel.errors import StoreTrouble
from waypost.scaling.jobs.job import Done, Failure, Lease, LeaseLost, NewJob
from waypost.scaling.jobs.store import JobStore

SHARDS = tuple(f"ocm/country:DE/ids:{number}..{number + 1}" for number in range(4))
_FAILURE = Failure("provider-unavailable", "it is away")
_T = TypeVar("_T")
# Long after every lease, pause and rest.
_LONG = 10 * LEASE


@dataclass(frozen=True)
class Opened:
    """A client's own way to the store; `age` back-dates all times in it, which no client of ours can do."""

    jobs: JobStore
    age: Callable[[float], Awaitable[None]]


@dataclass
class _Held:
    lease: Lease
    # Where its holder believes the job to be; None once a commit went out and no answer came: then it must not be sent
    # again, and the job is given back, as a worker does.
    cursor: int | None
    # It was refused, or ended the job; used again all the same now and then.
    is_over: bool = False


class Client:
    """Every lease it ever had is kept: any of them may come back, however late."""

    def __init__(self, name: str, opened: Opened, history: History, rng: random.Random) -> None:
        self._name = name
        self._jobs = opened.jobs
        self._age = opened.age
        self._history = history
        self._rng = rng
        self._leases: list[_Held] = []

    async def step(self) -> None:
        anybody, holder = self._rng.choices(_ANYBODY, _OFTEN)[0], self._rng.choices(_HOLDER, _OFTEN_HELD)[0]
        if self._leases and self._rng.random() < _USE:
            # Mostly one that may be good; the others are stale, and must do no harm.
            good = [held for held in self._leases if not held.is_over]
            await holder(self, self._rng.choice(self._leases if self._rng.random() < _STALE or not good else good))
        else:
            await anybody(self)

    async def finish(self) -> None:
        """With nobody else about: whatever is unfinished is found by one claim, once all leases are over."""
        for shard in self._history.shards():
            await self.look(shard)
        await self.time_passes(_LONG)
        found = {lease.shard for lease in await self.claim(limit=1000)}
        begin, end = self._history.moment(), self._history.moment()
        left = [shard for shard in self._history.shards() if shard not in found]
        self._history.add(*[Operation("claim all", begin, end, shard) for shard in left])
        for shard in self._history.shards():
            await self.look(shard)

    async def enqueue(self) -> None:
        shard, group = self._rng.choice(SHARDS), self._rng.choice([None, *GROUPS])
        asked = Operation("enqueue", 0, 0, shard, group=group)
        await self._ask(asked, lambda: self._jobs.enqueue([NewJob(shard)], group=group), _with_added)

    async def claim(self, limit: int | None = None) -> Sequence[Lease]:
        most = limit or self._rng.randint(1, 3)
        begin = self._history.moment()
        try:
            with self._history.a_claim():
                leases = await self._jobs.claim(self._name, limit=most, lease=LEASE, max_vanished=MAX_ATTEMPTS)
        except StoreTrouble:
            self._history.add(Operation("claim", begin, NEVER, answer="unknown", owner=self._name))
            return []
        end = self._history.moment()
        # Where it takes several steps, what it leased may be cancelled before it is read.
        self._history.add(Operation("claim", begin, end, answer="unknown", owner=self._name))
        for lease in leases:
            cursor = int(lease.cursor or 0)
            given = {"fence": lease.fence, "cursor": cursor, "attempts": lease.attempts, "owner": self._name}
            self._history.add(Operation("claim", begin, end, lease.shard, **given))  # type: ignore[arg-type]
            self._leases.append(_Held(lease, cursor))
        return leases

    async def cancel(self) -> None:
        group = self._rng.choice(GROUPS)
        # It meets what the group enqueues meanwhile once more.
        await self._ask_in_steps(Operation("cancel", 0, 0, group=group), lambda: self._jobs.cancel(group))

    async def revive(self) -> None:
        await self._ask(Operation("revive", 0, 0), self._jobs.revive)

    async def prune(self) -> None:
        # A job that one bite removed may be enqueued, cancelled and old again before the next.
        await self._ask_in_steps(Operation("prune", 0, 0), lambda: self._jobs.prune(older_than=PRUNE_AFTER))

    async def release_owner(self) -> None:
        """As a process does that starts in another's place; the leases of the dead one stay about, and are stale."""
        owner = self._name
        asked = Operation("release owner", 0, 0, owner=owner)
        await self._ask(asked, lambda: self._jobs.release_owner(owner, max_vanished=MAX_ATTEMPTS))

    async def raise_fences(self) -> None:
        """To about where they are: that is where a raise and a claim can meet."""
        highest = max((each.fence for each in self._history.operations), default=0)
        above = highest + self._rng.randint(0, 3)
        await self._ask(Operation("raise fences", 0, 0, fence=above), lambda: self._jobs.raise_fences(above))

    async def time_passes(self, seconds: float | None = None) -> None:
        back = seconds or self._rng.choice([400.0, LEASE + 100])
        with self._history.a_leap():
            await self._ask(Operation("age", 0, 0, seconds=back), lambda: self._age(back))

    async def look(self, shard: str | None = None) -> None:
        chosen = shard or self._rng.choice(SHARDS)
        await self._ask(
            Operation("look", 0, 0, chosen),
            lambda: self._jobs.get(chosen),
            lambda asked, job: replace(asked, seen=as_seen(job)),
        )

    async def renew(self, _held: _Held) -> None:
        """Several at once, mostly with stale ones among them."""
        chosen = {held.lease.shard: held.lease for held in sorted(self._leases[-6:], key=lambda each: not each.is_over)}
        begin = self._history.moment()
        try:
            renewed = await self._jobs.renew(list(chosen.values()), lease=LEASE)
        except StoreTrouble:
            self._note("renew", list(chosen.values()), begin, NEVER, "unknown")
            return
        end = self._history.moment()
        kept = [lease for lease in chosen.values() if lease.job_id in renewed.kept]
        lost = [lease for lease in chosen.values() if lease.job_id not in renewed.kept | renewed.busy]
        self._note("renew", kept, begin, end, "yes")
        self._note("renew", lost, begin, end, "lost")

    async def complete(self, held: _Held) -> None:
        others = [each.lease for each in self._leases[-2:] if each.lease.shard != held.lease.shard]
        leases = [held.lease, *others[:1]]
        held.is_over = True
        begin = self._history.moment()
        try:
            kept = await self._jobs.complete([Done(lease) for lease in leases])
        except StoreTrouble:
            self._note("complete", leases, begin, NEVER, "unknown")
            return
        end = self._history.moment()
        self._note("complete", [lease for lease in leases if lease.job_id in kept], begin, end, "yes")
        self._note("complete", [lease for lease in leases if lease.job_id not in kept], begin, end, "lost")

    async def checkpoint(self, held: _Held) -> None:
        if held.cursor is None:
            await self.release(held)
            return
        lease, after = held.lease, held.cursor + 1
        answer = await self._change(
            held,
            Operation("checkpoint", 0, 0, cursor=after),
            lambda: self._jobs.checkpoint(lease, cursor=str(after), counted={"pages": 1}),
        )
        held.cursor = after if answer == "yes" else None

    async def fail(self, held: _Held) -> None:
        retry_in = self._rng.choice([None, 0.0, 500.0])
        await self._change(
            held,
            Operation("fail", 0, 0, seconds=retry_in),
            lambda: self._jobs.fail(held.lease, _FAILURE, retry_in=retry_in, counted={}),
        )

    async def release(self, held: _Held) -> None:
        delay = self._rng.choice([0.0, 500.0])
        await self._change(
            held,
            Operation("release", 0, 0, seconds=delay),
            lambda: self._jobs.release(held.lease, counted={}, delay=delay),
        )

    async def split(self, held: _Held) -> None:
        """Into a part of its own and another that is there already."""
        parts = [SHARDS[0], f"{held.lease.shard.partition('/part')[0]}/part:{self._rng.randint(1, 2)}"]
        parts = [part for part in dict.fromkeys(parts) if part != held.lease.shard]
        begin = self._history.moment()
        answer = await self._change(
            held, Operation("split", 0, 0), lambda: self._jobs.split(held.lease, parts, counted={})
        )
        if answer != "lost":
            end = self._history.moment() if answer == "yes" else NEVER
            self._history.add(*[Operation("add part", begin, end, part, answer) for part in parts])

    async def _change(self, held: _Held, asked: Operation, change: Callable[[], Awaitable[None]]) -> Answer:
        lease = held.lease
        answer = await self._ask(replace(asked, shard=lease.shard, fence=lease.fence), change)
        if answer == "unknown":
            held.cursor = None
        held.is_over = answer == "lost" or (answer == "yes" and asked.asked != "checkpoint")
        return answer

    async def _ask(
        self,
        asked: Operation,
        question: Callable[[], Awaitable[_T]],
        told: Callable[[Operation, _T], Operation] = lambda asked, _: asked,
    ) -> Answer:
        begin = self._history.moment()
        try:
            result = await question()
        except LeaseLost:
            self._history.add(replace(asked, begin=begin, end=self._history.moment(), answer="lost"))
            return "lost"
        except StoreTrouble:
            self._history.add(replace(asked, begin=begin, end=NEVER, answer="unknown"))
            return "unknown"
        self._history.add(replace(told(asked, result), begin=begin, end=self._history.moment()))
        return "yes"

    async def _ask_in_steps(self, asked: Operation, question: Callable[[], Awaitable[object]]) -> None:
        """A store may answer it in several steps: before it ends, it may happen to a job a second time."""
        begin = self._history.moment()
        await self._ask(asked, question)
        self._history.add(replace(asked, begin=begin, end=self._history.moment(), answer="unknown"))

    def _note(self, asked: Asked, leases: Sequence[Lease], begin: int, end: int, answer: Answer) -> None:
        self._history.add(*[Operation(asked, begin, end, lease.shard, answer, fence=lease.fence) for lease in leases])


def _with_added(asked: Operation, added: int) -> Operation:
    return replace(asked, added=added)


# How often a client does something with a lease, if it has one, and how often with an old one.
_USE, _STALE = 0.6, 0.3
_ANYBODY = (
    Client.claim,
    Client.enqueue,
    Client.look,
    Client.time_passes,
    Client.cancel,
    Client.revive,
    Client.prune,
    Client.release_owner,
    Client.raise_fences,
)
_OFTEN = (8, 5, 3, 4, 1, 1, 2, 1, 1)
_HOLDER = (Client.checkpoint, Client.renew, Client.complete, Client.fail, Client.release, Client.split)
_OFTEN_HELD = (8, 3, 3, 2, 2, 1)
