"""Many workers on one allowance, and what the provider and Redis saw of them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from redis import Redis

from bench.budget.calls import Calls
from bench.budget.systems import System
from support.arrivals.notes import SECOND, Arrival, most_within, shares
from support.arrivals.scene import scene


@dataclass(frozen=True)
class Setting:
    rate: int
    seconds: int
    processes: int
    workers_each: int

    @property
    def workers(self) -> int:
        return self.processes * self.workers_each

    @property
    def allowed(self) -> int:
        return self.rate * self.seconds


@dataclass(frozen=True)
class Drill:
    """What came in the time from the first request on."""

    system: str
    setting: Setting
    arrivals: Sequence[Arrival]
    calls: int
    tokens: int

    @property
    def used(self) -> float:
        """The share of the rate; more than 1 is more than was allowed."""
        return len(self.arrivals) / self.setting.allowed

    @property
    def most_in_a_second(self) -> int:
        return most_within(SECOND, [each.came for each in self.arrivals])

    @property
    def most_granted_in_a_second(self) -> int:
        return most_within(SECOND, [each.granted for each in self.arrivals])

    @property
    def calls_per_token(self) -> float:
        return self.calls / self.tokens

    @property
    def shares(self) -> tuple[float, float]:
        return shares(self.arrivals, self.setting.workers)


def drill(system: System, url: str, setting: Setting) -> Drill:
    with (
        Redis.from_url(url, socket_timeout=10) as redis,
        scene(url, setting.rate, limiter=system.module, python=system.python) as played,
    ):
        redis.flushall()
        before = Calls.read(redis)
        played.add(setting.processes, workers=setting.workers_each)
        played.provider.wait(1)
        [first, *_] = played.provider.arrivals()
        time.sleep(max(0.0, (first.came + setting.seconds * SECOND - time.monotonic_ns()) / SECOND))
        calls = Calls.read(redis).since(before, in_scripts=system.in_scripts)
        arrivals = played.provider.arrivals()
    end = first.came + setting.seconds * SECOND
    counted = [each for each in arrivals if each.came < end]
    return Drill(system.name, setting, counted, calls, len(arrivals))
