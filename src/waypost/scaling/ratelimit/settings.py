"""What can be set about budgets."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast, get_args

from waypost.kernel.configuration import PREFIX, setting
from waypost.kernel.quantities import parse_duration, parse_share
from waypost.kernel.suggesting import did_you_mean
from waypost.scaling.ratelimit.budget import WhenAway
from waypost.scaling.ratelimit.budget_records import Rules
from waypost.scaling.ratelimit.limits import Limit, Spacing, parse_limits, parse_shared_limits


def _read_when_away(text: str) -> WhenAway:
    if text not in get_args(WhenAway):
        raise ValueError(
            f"{text[:40]!r} is not a choice for while the store is away; use one of {', '.join(get_args(WhenAway))}."
            f"{did_you_mean(text, get_args(WhenAway))}"
        )
    return cast("WhenAway", text)


def limit_settings(source: str, default: str) -> type[Any]:
    """The settings of one source: its `limit` for each key, and its `all_keys` for all keys together.

    The variable is the same for all sources: it is about the provider in use, whichever that is.
    """
    shared = f"budget.{source}.global"

    @dataclass(frozen=True)
    class LimitSettings:
        limit: tuple[Limit, ...] = setting(
            f"budget.{source}.limit",
            default,
            "requests allowed for each key of the provider, such as 5/s,10000/day",
            parse_limits,
            variable=f"{PREFIX}BUDGET",
        )
        all_keys: tuple[Limit, ...] = setting(
            shared,
            "",
            "requests allowed for all keys of the provider together; no limit when empty",
            parse_shared_limits,
            variable=PREFIX + re.sub(r"\W", "_", shared).upper(),
        )

    return LimitSettings


@dataclass(frozen=True)
class BudgetRoom:
    """What holds for the budgets of all providers."""

    max_wait: float = setting(
        "budget.max_wait", "10m", "longest wait for a turn before a job is given back", parse_duration
    )
    floor: float = setting("budget.floor", "5%", "share of the rate that refusals leave at least", parse_share)
    ceiling: float = setting("budget.ceiling", "100%", "share of the rate that is used at most", parse_share)
    recovery: float = setting(
        "budget.recovery", "10m", "how long success takes to bring a rate from 0 to 100 %", parse_duration
    )
    when_away: WhenAway = setting(
        "budget.when_away",
        "closed",
        "while the budget's store is away: closed (wait), share (this process's part of the rate) or open (go)",
        _read_when_away,
    )


@dataclass(frozen=True)
class BudgetSettings(BudgetRoom):
    """`limits` are those of each source, for one key and for all keys together."""

    limits: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)

    def allowing(self, source: str, limits: tuple[Limit, ...]) -> "BudgetSettings":
        """The same with other limits for each key of one source."""
        shared = (limit for limit in self.limits.get(source, ()) if limit.shared)
        return replace(self, limits={**self.limits, source: (*limits, *shared)})

    @property
    def rules(self) -> Mapping[str, Rules]:
        """Returns the rules by source."""
        floor, recovery = min(self.floor, self.ceiling), round(self.recovery * 1_000_000)
        return {
            source: Rules(tuple(map(Spacing.of, limits)), floor, self.ceiling, recovery)
            for source, limits in self.limits.items()
        }
