"""What is kept of a budget, and what is said about it. All times are microseconds of the store's clock."""

from typing import Literal

import msgspec

from waypost.scaling.ratelimit.limits import Spacing

_SECOND = 1_000_000
FOREVER = 1 << 52


class Rules(msgspec.Struct, frozen=True, array_like=True):
    """What the configuration says. The pace, a share of the rate, stays between floor and ceiling."""

    spacings: tuple[Spacing, ...]
    floor: float = 0.05
    ceiling: float = 1.0
    # How long success takes to bring the pace from nothing to all.
    recovery: int = 600 * _SECOND


class Waiting(msgspec.Struct, array_like=True):
    """A caller in the line: `turn` is its number, smaller for earlier ones; `until` is when its place lapses."""

    turn: int
    cost: int
    until: int
    # Whether its turn is near, and only callers ahead keep it from going.
    here: bool = False


class Account(msgspec.Struct):
    """What the store keeps of one budget. All times are microseconds of the store's clock."""

    # When the account was made, and how often it was changed; 0 while there is none.
    born: int = 0
    seq: int = 0
    seen: int = 0
    arrivals: dict[str, int] = {}
    # Until when nobody may ask, because the provider refused; and because something was lost.
    penalty: int = 0
    quiet: int = 0
    # Grows when turns that were granted become void.
    epoch: int = 0
    pace: float = 1.0
    paced_at: int = 0
    refusals: int = 0
    turns: int = 0
    line: list[Waiting] = []
    members: dict[str, int] = {}
    # The turn that was granted last, and the arrival times before it: only that turn can be given back.
    last_turn: int = 0
    before_last: list[int] = []


class Known(msgspec.Struct, frozen=True, array_like=True):
    """What a process last heard from the store. It sends this with each call, which mends a store that forgot."""

    now: int = 0
    born: int = 0
    seq: int = 0
    epoch: int = 0
    pace: float = 1.0
    penalty: int = 0
    members: int = 1
    arrivals: tuple[int, ...] = ()


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A request for a turn; `turn` is 0 the first time, and after that the number it was given."""

    turn: int
    cost: int
    max_wait: int = FOREVER


Verdict = Literal["granted", "later", "refused"]


class Answered(msgspec.Struct, frozen=True, array_like=True):
    """`at` is when to go if granted, when to ask again if later, and when the turn would be, too late, if refused."""

    verdict: Verdict
    turn: int
    at: int
