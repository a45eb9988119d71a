"""What a drill does, and how much of it. What happens when is drawn from the seed; that it happens is certain."""

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

Budget = Literal["redis", "store"]
BUDGETS: tuple[Budget, ...] = get_args(Budget)
# A refusal stops the whole fleet, for a second with Retry-After and for five and more without: so they are few.
FAULTS = {
    "429": 0.002,
    "429-bare": 0.001,
    "500": 0.008,
    "503": 0.008,
    "slow": 0.008,
    "cut": 0.008,
    "half": 0.008,
    "garbage": 0.007,
}
# Shards that one worker process works on at once, and pages after which a shard is cut in two.
CONCURRENCY = 4
_MAX_PAGES = 10
_MOST_PLACES_A_PAGE = 1000
_LEAST_PLACES_A_PAGE = 20
# So many pages are a matter of half a minute at the default rate.
_PAGES = 800
# Imports of everything: a first one and a refresh while the provider changes, and a last refresh when it is at rest.
IMPORTS = 3
# How long it takes until success has brought a rate that refusals lowered from nothing to all of it.
RECOVERY = 10.0
# The provider's first answers may go to whoever looks whether it is there at all.
_FIRST_PLACED = 5
_MOST_AWAY = 60.0
# From the earliest to the latest, so that there is work left.
_MOMENTS = (0.1, 0.4)
_LEAST_AWAY = 3.0


@dataclass(frozen=True)
class Rates:
    """Changes a second."""

    edits: float
    deletions: float
    additions: float


AT_REST = Rates(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Moment:
    """In which import, from 0, and when so large a share of its shards is done."""

    number: int
    share: float


@dataclass(frozen=True)
class Plan:
    """`rate` is the budget in requests a second; `seconds` is what one import may take at most."""

    places: int = 200_000
    seed: int = 0
    workers: int = 8
    rate: int = 40
    seconds: float = 300.0
    # Where the budget is; drawn from the seed if nobody says.
    budget: Budget | None = None
    # How long the provider is away; by its size if nobody says.
    away: float | None = None
    # In seconds.
    lease: float = 3.0
    kill_every: float = 1.0

    @property
    def page_size(self) -> int:
        return min(_MOST_PLACES_A_PAGE, max(_LEAST_PLACES_A_PAGE, self.places // _PAGES))

    @property
    def changes(self) -> Rates:
        """So few deletions that no import, however long it takes, would seem to remove too much."""
        return Rates(max(10, self.places / 2000), max(0.5, self.places / 20_000), max(0.5, self.places / 20_000))

    @property
    def budget_in(self) -> Budget:
        return self._rng("budget").choice(BUDGETS) if self.budget is None else self.budget

    @property
    def away_seconds(self) -> float:
        return min(_MOST_AWAY, max(_LEAST_AWAY, self.places / 1000)) if self.away is None else self.away

    @cached_property
    def restart(self) -> Moment:
        """When the store is killed and started again."""
        rng = self._rng("restart")
        return Moment(rng.randrange(IMPORTS), rng.uniform(*_MOMENTS))

    @cached_property
    def absence(self) -> Moment:
        """When the provider goes away: not in the first import, in which each of its faults is placed."""
        rng = self._rng("absence")
        return Moment(rng.randrange(1, IMPORTS), rng.uniform(*_MOMENTS))

    @property
    def faults(self) -> str:
        return ",".join(f"{name}={share}" for name, share in FAULTS.items())

    @property
    def faults_at(self) -> str:
        """Each fault once, somewhere among the requests that the first import cannot do without."""
        certain = range(_FIRST_PLACED, self.places // self.page_size)
        numbers = self._rng("faults").sample(certain, len(FAULTS))
        return ",".join(f"{number}={name}" for number, name in zip(numbers, FAULTS, strict=True))

    @property
    def config(self) -> str:
        """The file with the budget, which is of this one provider alone."""
        return f'[budget.ocm]\nlimit = "{self.rate}/s"\n'

    def settings(self, provider: str) -> dict[str, str]:
        """How workers are told, beside where their stores are."""
        return {
            "WAYPOST_OCM_URL": provider,
            # Refusals halve the rate. The default of ten minutes is for a provider that one does not want to anger.
            "WAYPOST_BUDGET_RECOVERY": f"{RECOVERY:g}s",
            # It tells how the work on each job ended.
            "WAYPOST_LOG_LEVEL": "debug",
            "WAYPOST_LEASE": f"{self.lease:g}s",
            "WAYPOST_IMPORT_PAGE_SIZE": str(self.page_size),
            "WAYPOST_IMPORT_MAX_PAGES": str(_MAX_PAGES),
            "WAYPOST_JOBS_CONCURRENCY": str(CONCURRENCY),
        }

    def _rng(self, what: str) -> random.Random:
        """Of its own for each, so that one draw more or less leaves the others as they are."""
        return random.Random(f"{self.seed} {what}")  # noqa: S311 - decides what happens when, guards nothing
