"""Who came in which hours of a day, kept so that distinct visitors can be counted for any consecutive hours of it.

Visitors cannot be added up as visits can: one who comes in two hours counts once. So each hour's visitors are counted
by the hour of that day in which they were last here before. The distinct visitors of consecutive hours are then those
who came in one of these hours and were last here before the first of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from waypost.sharing.visits.spans import DAY_HOURS

# Link, day, visitor.
Key = tuple[str, int, str]


class Arrivals(msgspec.Struct, frozen=True):
    """What changes when visitors are seen.

    `seen`: link, day, visitor, hours as bits. `counted`: link, hour, hour in which they were last here (the one before
    that day, if they were not), visitors. `new`: how many are new, by link and day.
    """

    seen: Sequence[tuple[str, int, str, int]]
    counted: Sequence[tuple[str, int, int, int]]
    new: Mapping[tuple[str, int], int]


def arrive(visitors: Iterable[tuple[str, int, str, int]], known: Mapping[Key, int]) -> Arrivals:
    """Returns what these visitors change; `known` has the hours in which they were seen before, as bits."""
    seen, new = [], Counter[tuple[str, int]]()
    counted: Counter[tuple[str, int, int]] = Counter()
    for link, day, visitor, hours in visitors:
        before = known.get((link, day, visitor), 0)
        after = before | hours
        if after == before:
            continue
        seen.append((link, day, visitor, after))
        new[link, day] += not before
        for hour, last, change in _steps(before, after):
            counted[link, day * DAY_HOURS + hour, day * DAY_HOURS + last] += change
    return Arrivals(seen, [(*key, count) for key, count in sorted(counted.items()) if count], new)


@lru_cache(4096)
def _steps(before: int, after: int) -> tuple[tuple[int, int, int], ...]:
    """Returns hours, each with the visitor's hour before it and the change to that count: 1 or -1."""
    was, now = _pairs(before), _pairs(after)
    return *((*pair, 1) for pair in now - was), *((*pair, -1) for pair in was - now)


def _pairs(bits: int) -> set[tuple[int, int]]:
    hours = [hour for hour in range(DAY_HOURS) if bits >> hour & 1]
    return set(zip(hours, (-1, *hours), strict=False))
