"""What a drill does, and how much of it."""

from dataclasses import dataclass

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
_MAX_PAGES = 25
_MOST_PLACES_A_PAGE = 1000
_LEAST_PLACES_A_PAGE = 20
# So many pages are a matter of half a minute at the default rate.
_PAGES = 800


@dataclass(frozen=True)
class Rates:
    """Changes a second."""

    edits: float
    deletions: float
    additions: float


AT_REST = Rates(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Plan:
    """`rate` is the budget in requests a second; `seconds` is what one import may take at most."""

    places: int = 200_000
    seed: int = 1
    workers: int = 8
    rate: int = 40
    seconds: float = 300.0
    # In seconds.
    lease: float = 3.0
    kill_every: float = 1.0

    @property
    def page_size(self) -> int:
        return min(_MOST_PLACES_A_PAGE, max(_LEAST_PLACES_A_PAGE, self.places // _PAGES))

    @property
    def changes(self) -> Rates:
        return Rates(max(10, self.places / 2000), max(2, self.places / 20_000), max(2, self.places / 20_000))

    @property
    def faults(self) -> str:
        return ",".join(f"{name}={share}" for name, share in FAULTS.items())

    def settings(self, provider: str) -> dict[str, str]:
        """How workers are told, beside where their stores are."""
        return {
            "WAYPOST_OCM_URL": provider,
            "WAYPOST_BUDGET": f"{self.rate}/s",
            # Refusals halve the rate. The default of ten minutes is for a provider that one does not want to anger.
            "WAYPOST_BUDGET_RECOVERY": "10s",
            # It tells how the work on each job ended.
            "WAYPOST_LOG_LEVEL": "debug",
            "WAYPOST_LEASE": f"{self.lease:g}s",
            "WAYPOST_IMPORT_PAGE_SIZE": str(self.page_size),
            "WAYPOST_IMPORT_MAX_PAGES": str(_MAX_PAGES),
            "WAYPOST_JOBS_CONCURRENCY": str(CONCURRENCY),
            # A shard whose holders are killed again and again, before their next page, is nobody's fault here.
            "WAYPOST_JOBS_MAX_ATTEMPTS": "100",
        }
