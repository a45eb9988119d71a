"""How the provider treats its callers."""

from dataclasses import dataclass, field

from waypost.scaling.ratelimit.limits import Limit
from waypost.simulator.faults import Faults


@dataclass(frozen=True)
class Conduct:
    """By default the provider behaves well: every caller is answered, at once and fully."""

    key: str | None = None
    limits: tuple[Limit, ...] = ()
    ban_after: int | None = None
    faults: Faults = field(default_factory=Faults)
    latency: float = 0.0
    # The most records in one answer, whatever was asked for.
    truncate: int | None = None
