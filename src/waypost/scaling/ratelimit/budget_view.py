"""A budget as people see it."""

import math

import msgspec

from waypost.scaling.ratelimit.budget import BudgetLook
from waypost.scaling.ratelimit.budget_records import Rules
from waypost.scaling.ratelimit.ledger import MEMBER_SECONDS

_SECOND = 1_000_000


class LimitView(msgspec.Struct, frozen=True):
    """`free` is how many requests could go at once, `used_ahead` for how many seconds turns are already taken."""

    limit: str
    scope: str
    free: int
    used_ahead: float


class BudgetView(msgspec.Struct, frozen=True):
    """Times are seconds from now. `next_turn` is when a caller that asks now could go."""

    provider: str
    key: str
    limits: list[LimitView]
    pace: float
    next_turn: float
    penalty: float
    refusals: int
    waiting: int
    processes: int


def view_of(key: str, look: BudgetLook, rules: Rules) -> BudgetView:
    account, now = look.account, look.now
    limits, next_turn = [], max(0, account.penalty - now, account.quiet - now)
    for spacing in rules.spacings:
        arrival = (look.common if spacing.shared else account).arrivals.get(spacing.name, 0)
        ahead = max(0, arrival - now)
        free = max(0, spacing.burst - math.ceil(ahead / spacing.interval))
        limits.append(LimitView(spacing.name, "global" if spacing.shared else "key", free, ahead / _SECOND))
        next_turn = max(next_turn, ahead - (spacing.burst - 1) * spacing.interval)
    provider, _, digest = key.partition(":")
    return BudgetView(
        provider,
        digest,
        limits,
        round(account.pace, 4),
        next_turn / _SECOND,
        max(0, account.penalty - now) / _SECOND,
        account.refusals,
        sum(each.until >= now for each in account.line),
        sum(seen >= now - MEMBER_SECONDS * _SECOND for seen in account.members.values()),
    )
