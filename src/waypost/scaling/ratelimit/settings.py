"""What can be set about budgets."""

from dataclasses import dataclass

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_duration
from waypost.scaling.ratelimit.limits import Limit, parse_limits


@dataclass(frozen=True)
class BudgetSettings:
    ocm: tuple[Limit, ...] = setting(
        "budget.ocm.limit",
        "2/s",
        parse=parse_limits,
        variable="WAYPOST_BUDGET",
        explain="requests allowed for each key of the provider, such as 5/s,10000/day",
    )
    max_wait: float = setting(
        "budget.max_wait", "10m", parse=parse_duration, explain="longest wait for a turn before a job is given back"
    )
