"""A process whose clock is wrong, or moves, made without another library: Python reads this before anything else.

SQLite keeps its true clock. It lives inside the worker's process and has no other clock than the machine's, so that a
machine whose clock is wrong is always of one mind with its file; what is wrong here is the clock of one machine among
those that share a job store.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

_SITECUSTOMIZE = """
import datetime, os, sys, time

SHIFT = os.environ["CHAOS_CLOCK_SHIFT"]
true_time, true_time_ns = time.time, time.time_ns


def shift():
    caller = sys._getframe(2).f_globals.get("__name__", "")
    if caller.startswith("waypost.adapters.sqlite"):
        return 0.0
    with open(SHIFT) as file:
        return float(file.read())


time.time = lambda: true_time() + shift()
time.time_ns = lambda: true_time_ns() + int(shift() * 1e9)

# Not datetime itself: msgspec does not take another class for it. Our code asks for the time here.
from waypost.kernel import clock

clock.utc_now = lambda: datetime.datetime.fromtimestamp(time.time(), datetime.UTC)
"""


class MovingClock:
    """For processes that all have this clock; it can be moved while they run."""

    def __init__(self, folder: Path, seconds: float = 0.0) -> None:
        path = folder / "clock"
        path.mkdir(exist_ok=True)
        (path / "sitecustomize.py").write_text(_SITECUSTOMIZE)
        self._shift = path / f"shift-{seconds}"
        paths = [str(path), os.environ.get("PYTHONPATH", "")]
        self.env = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CHAOS_CLOCK_SHIFT": str(self._shift)}
        self.move(seconds)

    def move(self, seconds: float) -> None:
        """So many seconds from the true time, from now on; nobody reads half of the number."""
        coming = self._shift.with_suffix(".coming")
        coming.write_text(str(seconds))
        coming.rename(self._shift)

    def set(self, moment: datetime) -> None:
        self.move((moment - datetime.now(UTC)).total_seconds())


def wrong_clock(folder: Path, seconds: float) -> dict[str, str]:
    """The environment of a process whose clock is off by so many seconds."""
    return MovingClock(folder, seconds).env
