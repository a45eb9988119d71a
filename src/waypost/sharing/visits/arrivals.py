"""Who came in which hours of a day, kept so that different people can be counted for any hours of it.

People cannot be added up as visits can: who is here in two hours counts once. So of each hour it is counted how many
came, apart by the hour of that day in which they were last here before. Of some hours in a row, the different people
are then those who came in one of them and were last here before the first of them.
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

    Seen: link, day, visitor, hours as bits. Counted: link, hour, hour in which they were last here (the one before that
    day, if they were not), visitors; and by link and day, how many are new.
    """

    seen: Sequence[tuple[str, int, str, int]]
    counted: Sequence[tuple[str, int, int, int]]
    new: Mapping[tuple[str, int], int]


def arrive(visitors: Iterable[tuple[str, int, str, int]], known: Mapping[Key, int]) -> Arrivals:
    """`known` has the hours in which visitors were seen before, as bits."""
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
    """Each hour, the one before it in which somebody was here, and how many more are of this kind now: 1 or -1."""
    was, now = _pairs(before), _pairs(after)
    return *((*pair, 1) for pair in now - was), *((*pair, -1) for pair in was - now)


def _pairs(bits: int) -> set[tuple[int, int]]:
    hours = [hour for hour in range(DAY_HOURS) if bits >> hour & 1]
    return set(zip(hours, (-1, *hours), strict=False))
