"""The budget: one allowance of requests for one provider key, shared by all who ask."""

from typing import Protocol

from waypost.kernel.errors import NotNow


class BudgetExhausted(NotNow):
    """The wait for a turn would be longer than allowed; the job is given back and tried later."""

    slug = "budget-exhausted"


class Budget(Protocol):
    async def acquire(self, key: str, *, cost: int = 1, max_wait: float | None = None) -> None:
        """Return when it is this caller's turn. Raises BudgetExhausted, taking nothing, if that is past `max_wait`."""
        ...

    async def penalise(self, key: str, retry_after: float) -> None:
        """The provider refused: nobody asks with this key for that many seconds."""
        ...
