"""How much of what the budget allows was used: what it allows at each moment, and who was there to use it."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drills.importing.plan import CONCURRENCY, RECOVERY
from drills.importing.requests import Request

_FIRST_PAUSE = 5.0
_RETRY_AFTER = 1.0
_FLOOR = 0.05
# As many pages a second one caller brings at least, if it need not wait for a turn.
_PAGES_A_CALLER = 2.0
# With fewer than this, who has just begun and who is about to end counts for too much.
_LEAST_CALLERS = 8


@dataclass(frozen=True)
class Sample:
    """At a moment: jobs of the provider that a living worker has or can have, and workers who could work on them.

    `idle` is the share of the processors' time that nobody wanted since the sample before.
    """

    at: float
    jobs: int
    workers: int
    idle: float

    @property
    def callers(self) -> int:
        return min(self.jobs, self.workers * CONCURRENCY)


@dataclass(frozen=True)
class Second:
    """What came in it, what could have, and whether that can be judged: enough were there, and no penalty was on."""

    began: float
    came: int
    expected: float
    can_be_judged: bool
    idle: float


class Allowance:
    """What refusals leave of the rate: half of it with each, nothing during the pause, and more with every success."""

    def __init__(self, requests: Sequence[Request]) -> None:
        self._steps: list[tuple[float, float, float]] = []
        pace, since, penalty, refusals = 1.0, -math.inf, -math.inf, 0
        for request in requests:
            at = request.answered_at
            if request.fault not in {"429", "429-bare"} and request.monotonic > penalty:
                refusals = 0
            if request.fault in {"429", "429-bare"} and at >= penalty:
                pace = max(_FLOOR, min(1.0, pace + max(0.0, at - since) / RECOVERY) / 2)
                refusals += 1
                pause = _RETRY_AFTER if request.fault == "429" else _FIRST_PAUSE * 2 ** (refusals - 1)
                since = penalty = at + pause
                self._steps.append((at, penalty, pace))

    def at(self, time: float) -> float:
        """From 0, in a penalty, to 1."""
        for began, over, pace in reversed(self._steps):
            if time >= began:
                return 0.0 if time < over else min(1.0, pace + (time - over) / RECOVERY)
        return 1.0


def seconds(requests: Sequence[Request], samples: Sequence[Sample], rate: int) -> Iterator[Second]:
    """Those that have samples, one after the other."""
    allowance = Allowance(requests)
    came = Counter(math.floor(request.monotonic) for request in requests)
    by_second: dict[int, list[Sample]] = {}
    for sample in samples:
        by_second.setdefault(math.floor(sample.at), []).append(sample)
    for second, there in sorted(by_second.items()):
        allowed = [allowance.at(second + part / 4) for part in range(5)]
        callers = min(sample.callers for sample in there)
        expected = min(rate * sum(allowed[:4]) / 4, callers * _PAGES_A_CALLER)
        can_be_judged = min(allowed) > 0 and callers >= _LEAST_CALLERS
        yield Second(second, came[second], expected, can_be_judged, min(sample.idle for sample in there))


class Idleness:
    """Of the machine, between one look and the next."""

    def __init__(self) -> None:
        self._before = _times()

    def since(self) -> float:
        (idle, total), (idle_before, total_before) = now, before = _times(), self._before
        self._before = now if total > total_before else before
        return (idle - idle_before) / max(1, total - total_before)


def _times() -> tuple[int, int]:
    """Of all processors: with nothing to do, or with what gives way to us (`nice`), and in all."""
    with Path("/proc/stat").open() as lines:
        user, nice, system, idle, waiting, *others = (int(word) for word in lines.readline().split()[1:9])
    return nice + idle + waiting, user + nice + system + idle + waiting + sum(others)
