"""The checker of lease histories: it takes what may have happened, and refuses what must not."""

import asyncio
import random
from collections.abc import Collection, Sequence
from typing import TypeVar

import pytest

from support.job_stores import age_memory
from support.leases.checker import Broken, check
from support.leases.clients import Client, Opened
from support.leases.history import NEVER, History, Operation, Seen, history_of
from support.leases.laws import LEASE, MAX_ATTEMPTS, PRUNE_AFTER, Law
from support.memory_jobs import MemoryJobStore
from waypost.scaling.jobs.job import Done, Status

_T = TypeVar("_T")
SHARD = "ocm/country:DE"
LATER = LEASE + 100


def one_by_one(*operations: Operation) -> list[Operation]:
    """Each begins after the one before has ended."""
    return [_at(operation, 2 * number, 2 * number + 1) for number, operation in enumerate(operations)]


def _at(operation: Operation, begin: int, end: int) -> Operation:
    told = {name: getattr(operation, name) for name in operation.__dataclass_fields__}
    return Operation(**{**told, "begin": begin, "end": NEVER if operation.answer == "unknown" else end})


def op(asked: str, **told: object) -> Operation:
    everywhere = {"cancel", "revive", "prune", "release owner", "raise fences", "age"}
    return Operation(**{"asked": asked, "begin": 0, "end": 0, "shard": None if asked in everywhere else SHARD, **told})  # type: ignore[arg-type]


def claim(fence: int, *, cursor: int = 0, attempts: int = 1, **told: object) -> Operation:
    return op("claim", fence=fence, cursor=cursor, attempts=attempts, owner=f"owner {fence}", **told)


def look(status: str, fence: int, *, attempts: int = 1, cursor: int = 0, pages: int | None = None) -> Operation:
    return op("look", seen=Seen(status, fence, attempts, cursor, cursor if pages is None else pages))


ENQUEUE = op("enqueue", added=1)
AGE = op("age", seconds=LATER)

GOOD = {
    "a job is done page by page": [
        ENQUEUE,
        claim(7),
        op("checkpoint", fence=7, cursor=1),
        op("renew", fence=7),
        op("checkpoint", fence=7, cursor=2),
        op("complete", fence=7),
        look("done", 7, attempts=0, cursor=2),
    ],
    "an expired lease is claimed again, and the old one refused": [
        ENQUEUE,
        claim(7),
        AGE,
        claim(9, attempts=2),
        op("checkpoint", fence=7, cursor=1, answer="lost"),
        op("checkpoint", fence=9, cursor=1),
    ],
    "a late renewal keeps the lease": [ENQUEUE, claim(7), AGE, op("renew", fence=7), op("complete", fence=7)],
    "an unknown commit happened": [
        ENQUEUE,
        claim(7),
        op("checkpoint", fence=7, cursor=1, answer="unknown"),
        op("release", fence=7),
        claim(8, cursor=1),
    ],
    "an unknown commit did not happen": [
        ENQUEUE,
        claim(7),
        op("checkpoint", fence=7, cursor=1, answer="unknown"),
        op("release", fence=7),
        claim(8),
    ],
    "an unknown claim has the job": [ENQUEUE, claim(0, answer="unknown"), look("leased", 7)],
    "one that kills its workers is buried": [
        ENQUEUE,
        *[step for number in range(1, MAX_ATTEMPTS + 1) for step in (claim(number, attempts=number), AGE)],
        look("dead", MAX_ATTEMPTS, attempts=MAX_ATTEMPTS),
        op("revive"),
        claim(9),
    ],
    "what is old is pruned, and its key begins anew with a larger fence": [
        ENQUEUE,
        claim(7),
        op("complete", fence=7),
        AGE,
        op("prune"),
        op("enqueue", added=1),
        look("pending", 0, attempts=0),
        claim(8),
    ],
    "what only one wanted is cancelled, and wanted again": [
        op("enqueue", added=1, group="one"),
        claim(7),
        op("cancel", group="one"),
        op("complete", fence=7, answer="lost"),
        op("enqueue", added=1, group="two"),
        claim(8),
    ],
    "a dead worker's job is released by its name": [
        ENQUEUE,
        claim(7),
        op("release owner", owner="owner 7"),
        op("complete", fence=7, answer="lost"),
        claim(8, attempts=2),
    ],
}

BAD: dict[str, tuple[Law, list[Operation]]] = {
    "a smaller fence": ("fences grow", [ENQUEUE, claim(7), op("release", fence=7), claim(6)]),
    "a smaller fence for a key that was pruned": (
        "fences grow",
        [ENQUEUE, claim(7), op("complete", fence=7), AGE, op("prune"), op("enqueue", added=1), claim(6)],
    ),
    "a fence that was raised above": ("fences grow", [ENQUEUE, op("raise fences", fence=50), claim(50)]),
    "the same fence again": ("a fence is given once", [ENQUEUE, claim(7), AGE, claim(7, attempts=2)]),
    "two holders": ("one holder at a time", [ENQUEUE, claim(7), claim(8, attempts=2)]),
    "two holders in spite of a renewal": (
        "one holder at a time",
        [ENQUEUE, claim(7), AGE, op("renew", fence=7), claim(8, attempts=2)],
    ),
    "a stale write": (
        "only the newest fence writes",
        [ENQUEUE, claim(7), AGE, claim(8, attempts=2), op("checkpoint", fence=7, cursor=1)],
    ),
    "a stale renewal": (
        "only the newest fence writes",
        [ENQUEUE, claim(7), AGE, claim(8, attempts=2), op("renew", fence=7)],
    ),
    "a write under a released lease": (
        "only the newest fence writes",
        [ENQUEUE, claim(7), op("release owner", owner="owner 7"), op("complete", fence=7)],
    ),
    "a page twice": (
        "each page once",
        [ENQUEUE, claim(7), op("checkpoint", fence=7, cursor=1), op("checkpoint", fence=7, cursor=1)],
    ),
    "a page counted twice": (
        "each page once",
        [ENQUEUE, claim(7), op("checkpoint", fence=7, cursor=1), look("leased", 7, attempts=0, cursor=1, pages=2)],
    ),
    "a job that is not found": ("nothing acknowledged is lost", [ENQUEUE, op("look")]),
    "a job that is new again": ("nothing acknowledged is lost", [ENQUEUE, ENQUEUE]),
    "a cursor that goes back": (
        "nothing acknowledged is lost",
        [ENQUEUE, claim(7), op("checkpoint", fence=7, cursor=1), op("release", fence=7), claim(8)],
    ),
    "an acknowledged release that is forgotten": (
        "nothing acknowledged is lost",
        [ENQUEUE, claim(7), op("release", fence=7), look("leased", 7)],
    ),
    "done and claimed again": ("done is final", [ENQUEUE, claim(7), op("complete", fence=7), AGE, claim(8)]),
    "done and leased again": ("done is final", [ENQUEUE, claim(7), op("complete", fence=7), look("leased", 7)]),
    "done and done again": ("done is final", [ENQUEUE, claim(7), op("complete", fence=7), op("complete", fence=7)]),
    "dead and claimed again": ("dead is final", [ENQUEUE, claim(7), op("fail", fence=7), AGE, claim(8)]),
    "dead and pending, though nobody revived it": (
        "dead is final",
        [ENQUEUE, claim(7), op("fail", fence=7), look("pending", 7)],
    ),
    "cancelled and claimed": (
        "cancelled is final",
        [op("enqueue", added=1, group="one"), op("cancel", group="one"), claim(7)],
    ),
    "cancelled, though another wants it": (
        "nothing acknowledged is lost",
        [
            op("enqueue", added=1, group="one"),
            op("enqueue", added=0, group="two"),
            op("cancel", group="one"),
            look("cancelled", 0, attempts=0),
        ],
    ),
    "pruned before its time": (
        "nothing acknowledged is lost",
        [ENQUEUE, claim(7), op("complete", fence=7), op("age", seconds=PRUNE_AFTER - 1), op("prune"), op("look")],
    ),
    "pruned, though it is not over": ("nothing acknowledged is lost", [ENQUEUE, AGE, op("prune"), op("look")]),
    "retried at once": (
        "nothing is claimed before it is due",
        [ENQUEUE, claim(7), op("fail", fence=7, seconds=500.0), claim(8, attempts=2)],
    ),
    "refused, though it holds the lease": (
        "whoever holds the lease is heard",
        [ENQUEUE, claim(7), op("complete", fence=7, answer="lost")],
    ),
    "left behind": ("nothing stays behind", [ENQUEUE, claim(7), AGE, op("claim all")]),
}


@pytest.mark.parametrize("operations", GOOD.values(), ids=GOOD)
def test_what_may_happen_is_taken(operations: list[Operation]) -> None:
    check(history_of(one_by_one(*operations)))


@pytest.mark.parametrize(("law", "operations"), BAD.values(), ids=BAD)
def test_what_must_not_happen_is_refused(law: Law, operations: list[Operation]) -> None:
    with pytest.raises(Broken) as refusal:
        check(history_of(one_by_one(*operations)))
    assert refusal.value.laws == {law}


def test_every_law_has_a_history_that_breaks_it() -> None:
    assert {law for law, _ in BAD.values()} == set(Law.__args__)  # type: ignore[attr-defined]


def test_what_overlaps_may_have_happened_in_either_order() -> None:
    begun = one_by_one(ENQUEUE, claim(7), AGE)
    # Both began before either ended: the renewal came too late, or the claim did.
    for renewal, taken in (("lost", [claim(8, attempts=2)]), ("yes", [])):
        both = [_at(op("renew", fence=7, answer=renewal), 10, 13), *[_at(each, 11, 12) for each in taken]]
        check(history_of([*begun, *both]))


def test_what_does_not_overlap_has_one_order() -> None:
    begun = one_by_one(ENQUEUE, claim(7), AGE)
    with pytest.raises(Broken):
        check(history_of([*begun, _at(op("renew", fence=7, answer="lost"), 10, 11), _at(claim(8, attempts=2), 12, 13)]))


def test_an_unknown_outcome_may_come_late_but_only_once() -> None:
    late = op("checkpoint", fence=7, cursor=1, answer="unknown")
    seen = [look("leased", 7), look("leased", 7, attempts=0, cursor=1)]
    check(history_of(one_by_one(ENQUEUE, claim(7), late, *seen)))
    with pytest.raises(Broken):
        check(history_of(one_by_one(ENQUEUE, claim(7), late, *seen, look("leased", 7))))


def test_a_claim_may_lose_a_job_before_it_returns_but_keeps_none_in_silence() -> None:
    begun = _at(op("enqueue", added=1, group="one"), 0, 1)
    claimed = Operation("claim", 2, 6, answer="unknown", owner="somebody")
    cancelled = _at(op("cancel", group="one"), 3, 4)
    check(history_of([begun, claimed, cancelled, _at(look("cancelled", 7), 7, 8)]))
    with pytest.raises(Broken):
        check(history_of([begun, claimed, _at(look("leased", 7), 7, 8)]))


class LastChoice(random.Random):
    """So that a client enqueues and cancels the same job each time."""

    def choice(self, options: Sequence[_T]) -> _T:  # type: ignore[override]
        return options[-1]


class PruningInBites(MemoryJobStore):
    """Between two bites, a client wants the job again, cancels it, and time passes."""

    client: Client

    async def prune(
        self,
        *,
        older_than: float,
        statuses: Collection[Status] = ("done", "cancelled"),
        prefix: str = "",
        limit: int | None = None,
    ) -> int:
        assert (prefix, limit) == ("", None)
        first, second = [[status] for status in statuses]
        pruned = await super().prune(older_than=older_than, statuses=first)
        await self.client.enqueue()
        await self.client.cancel()
        await self.client.time_passes()
        return pruned + await super().prune(older_than=older_than, statuses=second)


def test_a_prune_in_bites_may_remove_a_job_twice() -> None:
    async def live() -> History:
        store, history = PruningInBites(), History()

        async def age(seconds: float) -> None:
            age_memory(store, seconds)

        store.client = client = Client("somebody", Opened(store, age), history, LastChoice())
        await client.enqueue()
        (lease,) = await client.claim()
        await store.complete([Done(lease)])
        now = history.moment()
        history.add(Operation("complete", now, now, lease.shard, fence=lease.fence))
        await client.time_passes()
        await client.prune()
        await client.look(lease.shard)
        return history

    history = asyncio.run(live())
    assert history.operations[-1].seen is None
    check(history)
