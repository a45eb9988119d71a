"""One process's part of a rate, for when no store can tell it what the others do."""

import random

from waypost.kernel.clock import monotonic
from waypost.scaling.ratelimit.budget_account import Rules


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
