"""The budget that all processes use: turns from a store that they share, and what happens while it is away."""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import StoreTrouble
from waypost.kernel.ids import new_id
from waypost.kernel.tasks import end
from waypost.scaling.ratelimit.budget import Advice, BudgetExhausted, BudgetLook, BudgetStore, ProviderPauses, WhenAway
from waypost.scaling.ratelimit.budget_gate import Gate, Ticket
from waypost.scaling.ratelimit.budget_records import Rules
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import BUDGET_PACE, BUDGET_PENALTIES, BUDGET_WAIT_SECONDS, BUDGET_WITHOUT_STORE

log = get_logger("budget")

_LOOK_AGAIN_SECONDS = 1.0
_CLOSING_SECONDS = 1.0


class Share:
    """An even part of the pace that the store last knew, divided by the number of processes that it last knew."""

    def __init__(self, rules: Rules, *, members: int, pace: float, rng: random.Random) -> None:
        self._intervals = [spacing.interval * members / pace / 1_000_000 for spacing in rules.spacings]
        # Each process begins at another moment of the first interval, so that they do not all begin at once.
        phase = rng.random()
        self._arrivals = [monotonic() + interval * phase for interval in self._intervals]

    def reserve(self, cost: int) -> float:
        """Takes the next turn; returns the seconds until then."""
        now = monotonic()
        at = max([now, *self._arrivals])
        self._arrivals = [at + cost * interval for interval in self._intervals]
        return at - now


class _Meters:
    """Metrics of one budget, looked up once: looking them up for each turn would take a tenth of the turn."""

    def __init__(self, key: str) -> None:
        self.wait = BUDGET_WAIT_SECONDS.labels(_provider(key))
        self._pace = BUDGET_PACE.labels(_provider(key), key)
        self._shown: float | None = None

    def show(self, pace: float) -> None:
        if pace != self._shown:
            self._shown = pace
            self._pace.set(pace)


class SharedBudget:
    """`rules` are given per provider, which is the part of a key before the colon."""

    def __init__(self, store: BudgetStore, rules: Mapping[str, Rules], *, when_away: WhenAway = "closed") -> None:
        self._store = store
        self._rules = rules
        self._when_away = when_away
        self._process = new_id().hex
        self._gates: dict[str, Gate] = {}
        self._meters: dict[str, _Meters] = {}
        self._shares: dict[str, Share] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._ask_again_at = 0.0
        self._is_away = False
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=_CLOSING_SECONDS)
        await end(*self._leaving)
        await asyncio.gather(*(gate.close() for gate in self._gates.values()))

    async def acquire(
        self, key: str, *, cost: int = 1, max_wait: float | None = None, max_pause: float | None = None
    ) -> float:
        if cost < 1:
            raise ValueError(f"a request costs at least 1, not {cost}")
        gate, began = self._gate(key), monotonic()
        ticket = gate.ticket(cost, float("inf") if max_wait is None else began + max(0.0, max_wait))
        try:
            while not await self._try(key, gate, ticket, max_pause):
                pass
        except BaseException:
            self._leave(gate, ticket)
            raise
        meters = self._meters[key]
        meters.wait.observe(monotonic() - began)
        meters.show(gate.pace)
        return ticket.lost_at

    async def penalise(self, key: str, retry_after: float | None) -> float:
        gate = self._gate(key)
        BUDGET_PENALTIES.labels(_provider(key)).inc()
        try:
            left = await gate.penalise(retry_after)
        except StoreTrouble as trouble:
            self._note_away(trouble)
            left = gate.penalty_left
        log.warning("the provider refused", budget=key, seconds=round(left, 1), pace=round(gate.pace, 3))
        return left

    async def advise(self, key: str, advice: Advice) -> None:
        with suppress(StoreTrouble):
            await self._gate(key).advise(advice)

    def succeeded(self, key: str) -> None:
        self._gate(key).succeeded()

    async def look(self, key: str) -> BudgetLook:
        return await self._store.look(key)

    async def _try(self, key: str, gate: Gate, ticket: Ticket, max_pause: float | None) -> bool:
        """Waits; true when it is this caller's turn, false when it has to ask again."""
        if monotonic() < self._ask_again_at:
            return await self._without_store(key, gate, ticket)
        try:
            answered = await gate.ask(ticket)
            self._is_away = False
            self._shares.pop(key, None)
            if max_pause is not None and gate.penalty_left > max_pause:
                raise _pausing(key, gate.penalty_left, max_pause)
            match answered.verdict:
                case "granted":
                    return await gate.its_time(ticket)
                case "later":
                    await asyncio.sleep(max(0.0, ticket.at - monotonic()))
                    return False
        except StoreTrouble as trouble:
            self._note_away(trouble)
            return await self._without_store(key, gate, ticket)
        raise _exhausted(key, ticket.at - ticket.deadline)

    def _note_away(self, trouble: StoreTrouble) -> None:
        """A store that hangs must not hold up every request if there is a way to go on without it."""
        if self._when_away != "closed":
            self._ask_again_at = monotonic() + _LOOK_AGAIN_SECONDS
        if not self._is_away:
            self._is_away = True
            log.warning("the store of budgets is away", mode=self._when_away, error=trouble.slug, message=str(trouble))

    async def _without_store(self, key: str, gate: Gate, ticket: Ticket) -> bool:
        BUDGET_WITHOUT_STORE.labels(_provider(key), self._when_away).inc()
        penalty = gate.penalty_left
        wait, is_turn = (penalty, False) if penalty else self._decide_alone(key, gate, ticket.cost)
        over = monotonic() + wait - ticket.deadline
        if over > 0:
            raise _exhausted(key, over)
        await asyncio.sleep(wait)
        ticket.at = monotonic()
        return is_turn and not gate.penalty_left

    def _decide_alone(self, key: str, gate: Gate, cost: int) -> tuple[float, bool]:
        """Returns how long to wait, and whether to go after that or to ask the store again."""
        match self._when_away:
            case "closed":
                return full_jitter(1, base=_LOOK_AGAIN_SECONDS, cap=_LOOK_AGAIN_SECONDS, rng=self._rng), False
            case "share":
                if key not in self._shares:
                    self._shares[key] = Share(gate.rules, members=gate.members, pace=gate.pace, rng=self._rng)
                return self._shares[key].reserve(cost), True
            case "open":
                return 0.0, True

    def _leave(self, gate: Gate, ticket: Ticket) -> None:
        """Tries to give a turn back, without waiting for it: a turn that is not given back passes unused."""
        if ticket.holds:
            task = asyncio.create_task(_leave(gate, ticket.turn))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def _gate(self, key: str) -> Gate:
        if key not in self._gates:
            self._gates[key] = Gate(key, self._rules[_provider(key)], self._store, self._process)
            self._meters[key] = _Meters(key)
        return self._gates[key]


async def _leave(gate: Gate, turn: int) -> None:
    with suppress(StoreTrouble):
        await gate.leave(turn)


def _provider(key: str) -> str:
    return key.partition(":")[0]


def _pausing(key: str, left: float, max_pause: float) -> ProviderPauses:
    """Comes back a little early, so that callers stand in the line when the pause is over."""
    return ProviderPauses(
        f"nobody may ask {_provider(key)} for another {left:.0f} s", retry_in=max(0.0, left - max_pause / 2)
    )


def _exhausted(key: str, over: float) -> BudgetExhausted:
    return BudgetExhausted(
        f"the budget of {_provider(key)} has no turn in time; there will be one {over:.0f} s later", retry_in=over
    )
