"""What clients asked a job store, and what they heard, each with its begin and its end."""

import itertools
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from waypost.scaling.jobs.job import Job

Asked = Literal[
    "enqueue",
    "add part",
    "claim",
    "claim all",
    "renew",
    "checkpoint",
    "complete",
    "split",
    "fail",
    "release",
    "cancel",
    "revive",
    "prune",
    "release owner",
    "raise fences",
    "age",
    "look",
]
# `lost`: the lease was refused. `unknown`: the reply did not come; it may have happened, then or later, or never.
Answer = Literal["yes", "lost", "unknown"]


@dataclass(frozen=True)
class Seen:
    """A job as a look at it showed it."""

    status: str
    fence: int
    attempts: int
    cursor: int
    pages: int


@dataclass(frozen=True)
class Operation:
    """One question and its answer, about one shard, or about all when `shard` is None."""

    asked: Asked
    begin: int
    # Of the clock that counts begins and ends; an unknown outcome has none.
    end: int
    shard: str | None = None
    answer: Answer = "yes"
    # The lease's, or the one that a claim gave, or the one above which all shall be.
    fence: int = 0
    # What a claim returned, or where a checkpoint moves to.
    cursor: int = 0
    attempts: int = 0
    owner: str = ""
    group: str | None = None
    # How far time moved, or how long a job waits; None for a failure that is for good.
    seconds: float | None = None
    # How many jobs an enqueueing of one shard found to be new.
    added: int | None = None
    seen: Seen | None = None

    @property
    def changes_nothing(self) -> bool:
        return self.answer == "lost" or self.asked in {"look", "claim all"}

    def __str__(self) -> str:
        told = {
            name: getattr(self, name)
            for name in ("fence", "cursor", "attempts", "owner", "group", "seconds", "added", "seen")
            if getattr(self, name) not in {None, 0, ""}
        }
        return f"{self.begin}..{self.end} {self.asked} {self.shard or 'all'} → {self.answer} {told}"


# When an operation ends whose outcome nobody heard.
NEVER = 1 << 60


def as_seen(job: Job | None) -> Seen | None:
    if job is None:
        return None
    return Seen(job.status, job.fence, job.attempts, int(job.cursor or 0), job.counters.get("pages", 0))


class History:
    """Shared by all clients, in whichever threads they are."""

    def __init__(self) -> None:
        # Both are atomic in CPython: a number is given once, and an append loses nothing.
        self._moments = itertools.count(1)
        self.operations: list[Operation] = []
        self._claims = 0
        self._no_claims = threading.Condition()

    @contextmanager
    def a_claim(self) -> Iterator[None]:
        """Time does not leap by a whole lease while it is on its way: it may have several steps, and what it leased in
        the first would be somebody else's in the last.
        """
        with self._no_claims:
            self._claims += 1
        try:
            yield
        finally:
            with self._no_claims:
                self._claims -= 1
                self._no_claims.notify_all()

    @contextmanager
    def a_leap(self) -> Iterator[None]:
        with self._no_claims:
            self._no_claims.wait_for(lambda: not self._claims, timeout=60)
            yield

    def moment(self) -> int:
        return next(self._moments)

    def add(self, *operations: Operation) -> None:
        self.operations.extend(operations)

    def of(self, shard: str) -> list[Operation]:
        return [each for each in self.operations if each.shard in {None, shard}]

    def shards(self) -> list[str]:
        return sorted({each.shard for each in self.operations if each.shard is not None})


def history_of(operations: Iterable[Operation]) -> History:
    history = History()
    history.add(*operations)
    return history
