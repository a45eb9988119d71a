"""What can be set about budgets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_duration, parse_share
from waypost.kernel.suggesting import did_you_mean
from waypost.scaling.ratelimit.account import Rules
from waypost.scaling.ratelimit.limits import Limit, Spacing, parse_limits, parse_shared_limits
from waypost.scaling.ratelimit.shared import WhenAway


def _read_when_away(text: str) -> WhenAway:
    if text not in get_args(WhenAway):
        raise ValueError(
            f"{text[:40]!r} is nothing to do while the store is away; choose one of {', '.join(get_args(WhenAway))}."
            f"{did_you_mean(text, get_args(WhenAway))}"
        )
    return cast("WhenAway", text)


@dataclass(frozen=True)
class BudgetSettings:
    ocm: tuple[Limit, ...] = setting(
        "budget.ocm.limit",
        "2/s",
        parse=parse_limits,
        variable="WAYPOST_BUDGET",
        explain="requests allowed for each key of the provider, such as 5/s,10000/day",
    )
    ocm_global: tuple[Limit, ...] = setting(
        "budget.ocm.global",
        "",
        parse=parse_shared_limits,
        explain="requests allowed for all keys of the provider together; no limit when empty",
    )
    max_wait: float = setting(
        "budget.max_wait", "10m", parse=parse_duration, explain="longest wait for a turn before a job is given back"
    )
    floor: float = setting(
        "budget.floor", "5%", parse=parse_share, explain="share of the rate that refusals leave at least"
    )
    ceiling: float = setting(
        "budget.ceiling", "100%", parse=parse_share, explain="share of the rate that is used at most"
    )
    recovery: float = setting(
        "budget.recovery", "10m", parse=parse_duration, explain="how long success takes to bring a rate from 0 to 100 %"
    )
    when_away: WhenAway = setting(
        "budget.when_away",
        "closed",
        parse=_read_when_away,
        explain="while the budget's store is away: closed (wait), share (this process's part of the rate) or open (go)",
    )

    @property
    def rules(self) -> Mapping[str, Rules]:
        """By provider."""
        spacings = tuple(Spacing.of(limit) for limit in (*self.ocm, *self.ocm_global))
        floor = min(self.floor, self.ceiling)
        return {"ocm": Rules(spacings, floor, self.ceiling, round(self.recovery * 1_000_000))}
