"""Defects in hot paths: each is counted, and one a minute is logged, so that nobody can fill the log with them."""

import math
from collections.abc import Callable

from waypost.kernel.clock import monotonic
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import HOT_PATH_DEFECTS

log = get_logger("web")

_SECONDS_BETWEEN_LINES = 60.0


class HotPathDefects:
    """Of all connections of a process together."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._next_line = -math.inf

    def note(self, defect: Exception) -> None:
        HOT_PATH_DEFECTS.inc()
        now = self._clock()
        if now >= self._next_line:
            self._next_line = now + _SECONDS_BETWEEN_LINES
            log.error("a defect in a hot path; such requests take the long way", exc_info=defect)
