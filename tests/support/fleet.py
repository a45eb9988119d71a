"""A fleet that shares a budget on a simulated clock: processes of some callers each, which are killed and replaced."""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from waypost.scaling.ratelimit.budget_records import Account, Answered, Asked, Known, Rules
from waypost.scaling.ratelimit.ledger import Ledger

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


@dataclass
class Process:
    number: int
    alive: bool = True
    # A stopped process does nothing until this time, and then all that it missed.
    stopped_until: int = 0


@dataclass
class Turn:
    """One caller's wait for one turn, from its first question until it goes."""

    process: Process
    came: int
    number: int = 0
    epoch: int = 0


@dataclass
class Fleet:
    """Each caller asks, goes when it is its turn, waits for the provider, and asks again.

    Questions and answers travel for a random time, and nobody hears of a penalty before its turn has come.
    """

    rules: Rules
    rng: random.Random
    callers: int = 4
    travel: tuple[int, int] = (200, 5_000)
    request: tuple[int, int] = (5_000, 60_000)
    account: Account = field(default_factory=Account)
    known: Known = field(default_factory=Known)
    processes: list[Process] = field(default_factory=list)
    went: list[tuple[int, Turn]] = field(default_factory=list)
    # Stretches in which the provider wants nobody to ask.
    penalties: list[tuple[int, int]] = field(default_factory=list)
    paces: list[tuple[int, float]] = field(default_factory=list)
    questions: int = 0
    _now: int = START
    _events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _order: count = field(default_factory=count)  # type: ignore[type-arg] # it has none at run time

    def run(self, seconds: float) -> None:
        end = START + round(seconds * SECOND)
        while self._events and self._events[0][0] <= end:
            self._now, _, happens = heapq.heappop(self._events)
            happens()

    def at(self, time: int, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._order), happens))

    def start(self) -> None:
        process = Process(len(self.processes))
        self.processes.append(process)
        for _ in range(self.callers):
            self._ask(Turn(process, self._now))

    def kill(self) -> None:
        living = [process for process in self.processes if process.alive]
        self.rng.choice(living).alive = False

    def stop(self, seconds: float) -> None:
        living = [process for process in self.processes if process.alive]
        self.rng.choice(living).stopped_until = self._now + round(seconds * SECOND)

    def penalise(self, pause: int | None) -> None:
        self.known = self._ledger().penalise(pause)
        self.penalties.append((self._now, self.account.penalty))
        self.paces.append((self._now, self.account.pace))

    def _ledger(self) -> Ledger:
        return Ledger(self.account, Account(), self.rules, self.known, self._now)

    def _ask(self, turn: Turn) -> None:
        self._later(turn, self.travel, lambda: self._answer(turn))

    def _answer(self, turn: Turn) -> None:
        self.questions += 1
        ledger = self._ledger()
        [answered] = ledger.ask(str(turn.process.number), [Asked(turn.number, 1)])
        self.known = ledger.known()
        turn.number, turn.epoch = answered.turn, self.account.epoch
        self._later(turn, self.travel, lambda: self._hear(turn, answered))

    def _hear(self, turn: Turn, answered: Answered) -> None:
        self._at_least(turn, answered.at, lambda: self._go(turn, answered))

    def _go(self, turn: Turn, answered: Answered) -> None:
        is_late = self._now > answered.at + SECOND // 20
        if answered.verdict == "granted" and turn.epoch == self.account.epoch and not is_late:
            self.went.append((self._now, turn))
            self._later(turn, self.request, lambda: self._ask(Turn(turn.process, self._now)))
        else:
            self._ask(turn)

    def _later(self, turn: Turn, between: tuple[int, int], happens: Callable[[], None]) -> None:
        self._at_least(turn, self._now + self.rng.randint(*between), happens)

    def _at_least(self, turn: Turn, time: int, happens: Callable[[], None]) -> None:
        """Once its process is there again; never, if it is gone by then."""

        def act() -> None:
            if turn.process.stopped_until > self._now:
                self.at(turn.process.stopped_until, act)
            elif turn.process.alive:
                happens()

        self.at(max(time, self._now), act)
