"""Callers of a budget on a simulated clock, with everything that may happen to them."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from waypost.scaling.ratelimit.budget_records import Account, Asked, Known, Rules
from waypost.scaling.ratelimit.ledger import Ledger

SECOND = 1_000_000
_END_OF_TIME = 10**18
_MOST_ASKED = 100_000


@dataclass
class Caller:
    """Comes at a time, wants so much, and may be killed at a time: then nobody hears of it again."""

    number: int
    comes: int
    cost: int = 1
    dies: int | None = None
    turn: int = 0
    epoch: int = 0
    # When it will go, as long as nobody tells it otherwise.
    goes: int | None = None


@dataclass
class Crowd:
    """Asks for all of them, one after the other. Times here are real; the store's clock may step away from them."""

    rules: Rules
    # Whether those who wait are told of a penalty at once; else they find out when their time has come.
    tells: bool = True
    account: Account = field(default_factory=Account)
    common: Account = field(default_factory=Account)
    known: Known = field(default_factory=Known)
    went: list[tuple[int, Caller]] = field(default_factory=list)
    asked: int = 0
    _offset: int = 0
    _events: list[tuple[int, int, str, Caller | int]] = field(default_factory=list)
    _order: count = field(default_factory=count)  # type: ignore[type-arg] # it has none at run time

    def ledger(self, now: int) -> Ledger:
        return Ledger(self.account, self.common, self.rules, self.known, now + self._offset)

    def run(
        self,
        callers: Sequence[Caller],
        penalties: Sequence[tuple[int, int]] = (),
        steps: Sequence[tuple[int, int]] = (),
        until: int = _END_OF_TIME,
    ) -> list[tuple[int, Caller]]:
        """Penalties are (when, how long), steps of the store's clock (when, by how much). Returns who went when."""
        for caller in callers:
            self._at(caller.comes, "ask", caller)
        for time, pause in penalties:
            self._at(time, "penalty", pause)
        for time, by in steps:
            self._at(time, "step", by)
        while self._events and self._events[0][0] <= until:
            time, _, what, payload = heapq.heappop(self._events)
            if isinstance(payload, Caller):
                self._move(what, payload, time)
            elif what == "step":
                self._offset += payload
            else:
                self._penalise(payload, callers, time)
        return self.went

    def _at(self, time: int, what: str, payload: Caller | int) -> None:
        heapq.heappush(self._events, (time, next(self._order), what, payload))

    def _penalise(self, pause: int, callers: Sequence[Caller], now: int) -> None:
        self.known = self.ledger(now).penalise(pause)
        for caller in callers if self.tells else ():
            if caller.goes is not None:
                caller.goes = None
                self._at(now, "ask", caller)

    def _move(self, what: str, caller: Caller, now: int) -> None:
        if (caller.dies is not None and caller.dies <= now) or (what == "go" and caller.goes != now):
            return
        caller.goes = None
        if what == "go" and caller.epoch == self.account.epoch:
            self.went.append((now, caller))
        else:
            self._ask(caller, now)

    def _ask(self, caller: Caller, now: int) -> None:
        self.asked += 1
        assert self.asked < _MOST_ASKED, "they ask for ever"
        ledger = self.ledger(now)
        [answered] = ledger.ask("process", [Asked(caller.turn, caller.cost)])
        self.known = ledger.known()
        caller.turn, caller.epoch = answered.turn, self.account.epoch
        wait = answered.at - (now + self._offset)
        assert wait >= 0
        if answered.verdict == "granted":
            caller.goes = now + wait
            self._at(now + wait, "go", caller)
        else:
            # Who has to ask again does so later, or this would never end.
            assert wait > 0
            self._at(now + wait, "ask", caller)
