"""One budget as one process sees it: it asks the store for all callers who wait here, and wakes them at their time."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import StoreTrouble
from waypost.kernel.tasks import end
from waypost.scaling.ratelimit.budget import Advice, BudgetStore
from waypost.scaling.ratelimit.budget_records import FOREVER, Answered, Asked, Known, Rules
from waypost.scaling.ratelimit.ledger import FIRST_PAUSE, NOTEWORTHY

_MICROSECONDS = 1_000_000
# Turns that one call to the store asks for.
_BATCH = 100
# A caller that is later than this has lost its turn, because others are on theirs: half of the time between two turns,
# within these bounds. So a second never sees more than a twentieth of its rate, or one request, too many.
_LATE_LEAST, _LATE_MOST = 0.05, 0.5


class Ticket:
    """A caller that waits for its turn, and what the store last said about it."""

    def __init__(self, cost: int, deadline: float, late: float) -> None:
        self.cost = cost
        self.deadline = deadline
        self._late = late
        self.turn = 0
        self.answered: Answered | StoreTrouble | None = None
        self.at = 0.0
        self.epoch = 0

    @property
    def holds(self) -> bool:
        """Whether the store keeps a turn or a place in the line for it."""
        return isinstance(self.answered, Answered) and self.answered.verdict != "refused"

    @property
    def lost_at(self) -> float:
        return self.at + self._late

    def verdict(self) -> Answered:
        assert self.answered
        if isinstance(self.answered, StoreTrouble):
            raise self.answered
        return self.answered

    def asked(self, now: float) -> Asked:
        left = FOREVER if self.deadline == float("inf") else max(0, round((self.deadline - now) * _MICROSECONDS))
        return Asked(self.turn, self.cost, left)


class Gate:
    def __init__(self, key: str, rules: Rules, store: BudgetStore, process: str) -> None:
        self.rules = rules
        self._key = key
        self._store = store
        self._process = process
        self._known = Known()
        self._known_at = 0.0
        # Seconds to add to a time of the store's clock to get ours.
        self._offset = float("inf")
        self._succeeded = False
        self._queue: list[Ticket] = []
        self._turn_to_ask = asyncio.Lock()
        self._turn_to_look = asyncio.Lock()
        self._voided = asyncio.Event()
        # The subscription through which we have seen every epoch since it started.
        self._followed: int | None = None
        self._following: asyncio.Task[None] | None = None
        between = min(spacing.interval for spacing in rules.spacings) / _MICROSECONDS
        self._late = min(_LATE_MOST, max(_LATE_LEAST, between / 2))

    def ticket(self, cost: int, deadline: float) -> Ticket:
        return Ticket(cost, deadline, self._late)

    @property
    def members(self) -> int:
        """How many processes shared the budget when the store last answered."""
        return self._known.members

    @property
    def pace(self) -> float:
        return self._known.pace

    @property
    def penalty_left(self) -> float:
        """Seconds for which nobody may ask, as far as this process knows."""
        passed = (monotonic() - self._known_at) * _MICROSECONDS
        return max(0.0, (self._known.penalty - self._known.now - passed) / _MICROSECONDS)

    def succeeded(self) -> None:
        self._succeeded = True

    async def ask(self, ticket: Ticket) -> Answered:
        """Returns what the store says about a ticket. Tickets that come while a call is under way share the next."""
        ticket.answered = None
        self._queue.append(ticket)
        try:
            while ticket in self._queue:
                async with self._turn_to_ask:
                    if ticket in self._queue:
                        await self._ask_for(self._queue[:_BATCH])
        finally:
            self._forget(ticket)
        return ticket.verdict()

    async def its_time(self, ticket: Ticket) -> bool:
        """Waits for a turn that was granted; false if it was lost meanwhile."""
        wait = ticket.at - monotonic()
        if wait > 0:
            voided = self._voided
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await voided.wait()
        return monotonic() <= ticket.lost_at and (wait <= 0 or ticket.epoch == await self._epoch())

    async def penalise(self, retry_after: float | None) -> float:
        pause = None if retry_after is None else round(retry_after * _MICROSECONDS)
        try:
            self._learn(await self._store.penalise(self._key, self.rules, self._known, pause))
        except StoreTrouble:
            # At least nobody in this process asks; and the next call to the store tells it.
            self._remember_penalty(FIRST_PAUSE if pause is None else pause)
            raise
        return self.penalty_left

    async def advise(self, advice: Advice) -> None:
        slowest = max(spacing.interval for spacing in self.rules.spacings)
        reset = round(advice.reset * _MICROSECONDS)
        left = max(self.rules.floor, slowest * advice.remaining / max(1, reset))
        # Most answers say nothing new, and must not cost a call each.
        if reset > 0 and (advice.remaining <= 0 or left < self._known.pace * NOTEWORTHY):
            self._learn(await self._store.advise(self._key, self.rules, self._known, advice.remaining, reset))

    async def leave(self, turn: int) -> None:
        self._learn(await self._store.leave(self._key, self.rules, self._known, turn))

    async def close(self) -> None:
        if self._following:
            await end(self._following)

    async def _ask_for(self, tickets: Sequence[Ticket]) -> None:
        """A cancelled caller that asks for others too waits for the answer, or they would lose their turns."""
        if len(tickets) == 1:
            await self._ask(tickets)
            return
        asking = asyncio.create_task(self._ask(tickets))
        try:
            await asyncio.shield(asking)
        except asyncio.CancelledError:
            await asyncio.wait({asking})
            raise

    async def _ask(self, tickets: Sequence[Ticket]) -> None:
        self._following = self._following or asyncio.create_task(self._follow())
        succeeded, self._succeeded = self._succeeded, False
        sent = monotonic()
        asked = [ticket.asked(sent) for ticket in tickets]
        try:
            known, answers = await self._store.ask(
                self._key, self.rules, self._known, self._process, asked, succeeded=succeeded
            )
        except StoreTrouble as trouble:
            for ticket in tickets:
                ticket.answered = trouble
                self._forget(ticket)
            return
        self._learn(known)
        self._compare_clocks(sent)
        numbered = {ticket.turn: ticket for ticket in tickets if ticket.turn}
        others = iter([ticket for ticket in tickets if not ticket.turn])
        for answered in answers:
            # Numbers are given out in the order of asking, and answers come in the order of numbers.
            ticket = numbered.get(answered.turn) or next(others)
            ticket.turn, ticket.epoch, ticket.answered = answered.turn, known.epoch, answered
            ticket.at = answered.at / _MICROSECONDS + self._offset
            self._forget(ticket)

    def _forget(self, ticket: Ticket) -> None:
        """Removes a ticket that is answered, or that was cancelled, maybe while another caller asked for it."""
        if ticket in self._queue:
            self._queue.remove(ticket)

    def _learn(self, known: Known) -> None:
        self._know_epoch(known.epoch)
        self._known, self._known_at = known, monotonic()

    def _compare_clocks(self, sent: float) -> None:
        """Narrows the offset between the clocks: the store read its own after we asked, and before we had the answer.

        So an answer that took its time, on its way or because this process was busy or stopped, moves no turn: the
        quickest answers tell best. The offset starts with the latest time possible, so that no turn comes early.
        """
        now = self._known.now / _MICROSECONDS
        self._offset = min(max(self._offset, sent - now), self._known_at - now)

    def _remember_penalty(self, pause: int) -> None:
        passed = round((monotonic() - self._known_at) * _MICROSECONDS)
        until = max(self._known.penalty, self._known.now + passed + pause)
        self._learn(msgspec.structs.replace(self._known, now=self._known.now + passed, penalty=until))

    async def _epoch(self) -> int:
        subscription = self._store.subscription(self._key)
        if subscription is None or subscription != self._followed:
            async with self._turn_to_look:  # one after the other, or a caller whose turn is later might be quicker
                self._know_epoch(await self._store.epoch(self._key))
        return self._known.epoch

    def _know_epoch(self, epoch: int) -> None:
        if epoch != self._known.epoch:
            self._known = msgspec.structs.replace(self._known, epoch=epoch)
            self._voided.set()
            self._voided = asyncio.Event()

    async def _follow(self) -> None:
        """Learns of new epochs, from stores that announce them."""
        while True:
            subscription = await self._store.news(self._key)
            with suppress(StoreTrouble):
                self._know_epoch(await self._store.epoch(self._key))
                self._followed = subscription
