"""The budget: one allowance of requests for one provider key, shared by all who ask."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from waypost.kernel.errors import NotNow
from waypost.scaling.ratelimit.account import Account, Answered, Asked, Known, Rules

# While the store is away: wait for it; take this process's part of the rate; or go as if there were no limit.
WhenAway = Literal["closed", "share", "open"]


class BudgetExhausted(NotNow):
    """The wait for a turn would be longer than allowed; the job is given back and tried later."""

    slug = "budget-exhausted"


class ProviderPauses(NotNow):
    """The provider wants nobody to ask for a while; the job is given back, so that nobody holds it for nothing."""

    slug = "provider-pauses"


class Advice(msgspec.Struct, frozen=True):
    """What a provider says with an answer: so many requests are left, until its count starts again in `reset` s."""

    remaining: int
    reset: float


class Budget(Protocol):
    """A key names a provider and a hash of our key there: `ocm:0123456789abcdef`."""

    async def acquire(
        self, key: str, *, cost: int = 1, max_wait: float | None = None, max_pause: float | None = None
    ) -> float:
        """Return when it is this caller's turn; the time, on our monotonic clock, after which that is lost.

        Raises BudgetExhausted, taking nothing, if the turn is past `max_wait`, and ProviderPauses if nobody may ask
        for longer than `max_pause`; half of that before the pause is over, it is time to come back.
        """
        ...

    async def penalise(self, key: str, retry_after: float | None) -> float:
        """The provider refused: nobody asks with this key for that many seconds, and slower from then on.

        Without advice the pause grows with each refusal in a row. Returns the seconds until somebody may ask again.
        """
        ...

    async def advise(self, key: str, advice: Advice) -> None:
        """Slow everybody down before the provider has to refuse."""
        ...

    def succeeded(self, key: str) -> None:
        """The provider answered; the next turn that is asked for says so, which raises a lowered rate slowly."""
        ...

    async def look(self, key: str) -> "BudgetLook":
        """How the budget stands, without taking anything."""
        ...


class BudgetLook(msgspec.Struct, frozen=True):
    """A budget at a moment of its store's clock, both of them for people."""

    account: Account
    common: Account
    now: int


class BudgetStore(Protocol):
    """Where budgets are kept: each call is one atomic change. Raises StoreTrouble."""

    async def ask(
        self, key: str, rules: Rules, known: Known, process: str, asked: Sequence[Asked], *, succeeded: bool
    ) -> tuple[Known, list[Answered]]: ...

    async def penalise(self, key: str, rules: Rules, known: Known, pause: int | None) -> Known: ...

    async def advise(self, key: str, rules: Rules, known: Known, remaining: int, reset: int) -> Known: ...

    async def leave(self, key: str, rules: Rules, known: Known, turn: int) -> Known: ...

    async def look(self, key: str) -> BudgetLook: ...

    async def epoch(self, key: str) -> int:
        """Turns that were granted in an earlier epoch are void."""
        ...

    async def news(self, key: str) -> int:
        """Wait until the epoch may have changed; returns the number of the subscription that said so."""
        ...

    def subscription(self, key: str) -> int | None:
        """The number of the subscription that would tell us of a new epoch; None if nobody would."""
        ...
