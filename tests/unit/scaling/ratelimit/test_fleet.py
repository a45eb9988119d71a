"""A fleet whose processes are killed and stopped all the time still uses its budget, and keeps to it, in order.

Half a minute of eight processes takes about a tenth of a second here. `SEEDS=1000` tries three thousand of them.
"""

import math
import os
import random

import pytest

from support.fleet import SECOND, START, Fleet
from waypost.scaling.ratelimit.account import Rules
from waypost.scaling.ratelimit.limits import Spacing, parse_limits

SECONDS = 30
SEEDS = int(os.environ.get("SEEDS", "3"))


def make_fleet(rate: int, rng: random.Random) -> Fleet:
    """Eight processes of four callers. Nothing raises a pace that was lowered, so that it can be told what it was."""
    fleet = Fleet(Rules((Spacing.of(parse_limits(f"{rate}/s")[0]),), recovery=10**15), rng)
    for _ in range(8):
        fleet.at(START, fleet.start)
    return fleet


def kill_one_each_second(fleet: Fleet, rng: random.Random) -> None:
    for second in range(SECONDS):
        when = START + second * SECOND + rng.randrange(SECOND)
        fleet.at(when, fleet.kill)
        fleet.at(when + rng.randrange(SECOND, 2 * SECOND), fleet.start)


def capacity(fleet: Fleet, rate: int) -> float:
    """How many turns there were, at the pace of each moment and outside of penalties."""
    total, since, pace = 0.0, START, 1.0
    for (refused, over), (_, lowered) in zip(fleet.penalties, fleet.paces, strict=True):
        total += max(0, refused - since) * rate * pace
        since, pace = max(since, over), lowered
    return (total + max(0, START + SECONDS * SECOND - since) * rate * pace) / SECOND


def assert_within(rate: int, fleet: Fleet) -> None:
    """In any window, what the rate allows and one more; and each may come late by a twentieth of a second."""
    times = [time for time, _ in fleet.went]
    for first in range(len(times)):
        last = min(first + 2 * rate, len(times) - 1)
        length = (times[last] - times[first]) / SECOND + 0.05
        assert last - first + 1 <= math.floor(length * rate) + 1 + 1e-6


def longest_overtaking(fleet: Fleet) -> float:
    """By how many seconds somebody came later and still went before a caller that was there all the time."""
    longest, earliest = 0, START + SECONDS * SECOND
    for _, turn in reversed(fleet.went):
        longest = max(longest, turn.came - earliest)
        if not turn.process.stopped_until:
            earliest = min(earliest, turn.came)
    return longest / SECOND


def at_random(rng: random.Random) -> int:
    return START + rng.randrange(2 * SECOND, SECONDS * SECOND // 2)


@pytest.mark.parametrize("rate", [10, 40, 100])
@pytest.mark.parametrize("number", range(SEEDS))
def test_nine_tenths_are_used_while_one_of_eight_processes_is_killed_each_second(rate: int, number: int) -> None:
    seed = int(os.environ.get("SEED", random.randrange(10**9))) + number
    rng = random.Random(seed)
    fleet = make_fleet(rate, rng)
    kill_one_each_second(fleet, rng)
    # A refusal without advice stops everybody for longer than turns are granted ahead, so that a line forms.
    fleet.at(at_random(rng), lambda: fleet.penalise(None))
    for _ in range(3):
        fleet.at(at_random(rng), lambda: fleet.stop(rng.uniform(0.5, 5)))
    fleet.run(SECONDS)
    assert len(fleet.went) >= 0.9 * capacity(fleet, rate), f"to repeat it: SEED={seed}"
    assert_within(rate, fleet)
    assert longest_overtaking(fleet) < 2, f"to repeat it: SEED={seed}"
