"""What the provider noted, and the laws it is judged by. All times are nanoseconds of the machine's monotonic clock,
which all processes share.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

SECOND = 1_000_000_000


@dataclass(frozen=True)
class Arrival:
    """A request: when its worker was told that it is its turn, and when it came."""

    worker: str
    granted: int
    came: int


def most_within(window: int, times: Sequence[int]) -> int:
    """Of all windows of this length, wherever they begin, how many the fullest has."""
    ordered = sorted(times)
    most = first = 0
    for at, time in enumerate(ordered):
        while time - ordered[first] >= window:
            first += 1
        most = max(most, at - first + 1)
    return most


def shares(arrivals: Sequence[Arrival], workers: int) -> tuple[float, float]:
    """What the least and the most served of so many workers had, where 1 is an even share."""
    served = Counter(each.worker for each in arrivals)
    even = len(arrivals) / workers
    least = min(served.values()) if len(served) == workers else 0
    return least / even, max(served.values()) / even
