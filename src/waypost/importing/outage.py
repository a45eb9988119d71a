"""Whose fault it is when a provider does not answer: its own, or that of the one shard that was asked for.

A request that fails says little by itself. While the provider sends pages of other shards, the fault is with the shard
that fails again and again. When nothing comes at all, it is with the provider, and no shard's attempts are spent on it.
In between, when only one shard is left, a small question decides: if the provider answers it, and the shard still
fails, the fault is with the shard.
"""

import math
import random

import msgspec

# The pauses between probes double from the first to the longest, and each is drawn from its upper half.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
# Shards whose last failure is remembered: those that failed most recently.
_MOST_REMEMBERED = 1000


class Away(msgspec.Struct, frozen=True):
    """The provider is at fault: try again after `retry_in` seconds. `all_wait` says that nobody should ask before."""

    retry_in: float
    all_wait: bool


class Outage:
    """What one process has seen of one provider. Times are seconds on one clock, which only goes forward."""

    def __init__(self, patience: float, rng: random.Random) -> None:
        self._patience = patience
        self._rng = rng
        self._page_at = self._answer_at = -math.inf
        # The first failure since the last page, and shards that have failed since: two of them are enough to know.
        self._since: float | None = None
        self._failing: set[str] = set()
        # Requests that were under way together and failed are one try.
        self._tries = 0
        self._tried_at = self._next_at = -math.inf
        self._failed_at: dict[str, float] = {}

    def brought_a_page(self, shard: str, now: float) -> None:
        self._page_at = now
        self._since, self._tries = None, 0
        self._failing.clear()
        self._failed_at.pop(shard, None)

    def answered(self, now: float) -> None:
        """The provider answered a small question, not one for a page."""
        self._answer_at = now

    def failed(self, shard: str, *, asked_at: float, now: float) -> Away | None:
        """Returns None if it is the shard's own fault, or if the provider has been away for longer than `patience`."""
        is_own = self._is_own(shard)
        self._remember(shard, now)
        if is_own:
            return None
        self._since = now if self._since is None else self._since
        if now - self._since >= self._patience:
            return None
        if asked_at >= self._tried_at:
            self._tries += 1
            self._tried_at, self._next_at = now, now + self._pause()
        return Away(self.rests_for(now), self._tries > 1)

    def rests_for(self, now: float) -> float:
        """Seconds until the next probe."""
        return max(0.0, self._next_at - now)

    def needs_a_probe(self, shard: str) -> bool:
        """Whether a small question should come first: no answer has come since this shard failed, or since all did."""
        failed_at = self._tried_at if self._tries > 1 else self._failed_at.get(shard, -math.inf)
        return failed_at > max(self._answer_at, self._page_at)

    def _is_own(self, shard: str) -> bool:
        before = self._failed_at.get(shard, math.inf)
        return self._page_at > before or (self._answer_at > before and self._failing == {shard})

    def _remember(self, shard: str, now: float) -> None:
        if len(self._failing) < 2:  # noqa: PLR2004 - said above
            self._failing.add(shard)
        self._failed_at.pop(shard, None)
        self._failed_at[shard] = now
        while len(self._failed_at) > _MOST_REMEMBERED:
            self._failed_at.pop(next(iter(self._failed_at)))

    def _pause(self) -> float:
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(max(0, self._tries - 2), 30))
        return longest * self._rng.uniform(0.5, 1.0)
