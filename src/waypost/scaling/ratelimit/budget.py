"""The budget: one allowance of requests for one provider key, shared by all who ask."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from waypost.kernel.errors import NotNow
from waypost.scaling.ratelimit.budget_records import Account, Answered, Asked, Known, Rules

# While the store is away: wait for it, use this process's part of the rate, or go as if there were no limit.
WhenAway = Literal["closed", "share", "open"]


class BudgetExhausted(NotNow):
    """The wait for a turn would be longer than allowed; the job is given back and tried later."""


class ProviderPauses(NotNow):
    """The provider wants no requests for a while; the job is given back, so that no worker holds it for nothing."""


class Advice(msgspec.Struct, frozen=True):
    """What a provider says with an answer: `remaining` requests are left until its count starts again in `reset` s."""

    remaining: int
    reset: float


class Budget(Protocol):
    """A key names a provider and a hash of our key there: `ocm:0123456789abcdef`."""

    async def acquire(
        self, key: str, *, cost: int = 1, max_wait: float | None = None, max_pause: float | None = None
    ) -> float:
        """Waits for this caller's turn; returns the time, on our monotonic clock, after which the turn is lost.

        Raises BudgetExhausted, taking nothing, if the turn is past `max_wait`, and ProviderPauses if nobody may ask
        for longer than `max_pause`; it is time to come back half of `max_pause` before the pause is over.
        """

    async def penalise(self, key: str, retry_after: float | None) -> float:
        """The provider refused: nobody asks with this key for `retry_after` seconds, and slower from then on.

        Without advice the pause grows with each refusal in a row. Returns the seconds until callers may ask again.
        """

    async def advise(self, key: str, advice: Advice) -> None:
        """Slows all callers down before the provider has to refuse."""

    def succeeded(self, key: str) -> None:
        """The provider answered; the next request for a turn tells the store, which slowly raises a lowered rate."""

    async def look(self, key: str) -> "BudgetLook":
        """How the budget stands, without taking anything."""


class BudgetLook(msgspec.Struct, frozen=True):
    """For people: a key's account, the one that all keys share, and the time on the store's clock."""

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
        """Returns the current epoch; turns that were granted in an earlier one are void."""

    async def news(self, key: str) -> int:
        """Waits until the epoch may have changed; returns the number of the subscription that said so."""

    def subscription(self, key: str) -> int | None:
        """The number of the subscription that would tell us of a new epoch; None if there is none."""
