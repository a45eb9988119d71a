"""A worker whose clock is wrong, made without another library: Python reads this before anything else.

SQLite keeps its true clock. It lives inside the worker's process and has no other clock than the machine's, so that a
machine whose clock is wrong is always of one mind with its file; what is wrong here is the clock of one machine among
those that share a job store.
"""

import os
from pathlib import Path

_SITECUSTOMIZE = """
import datetime, os, sys, time

SHIFT = float(os.environ["CHAOS_CLOCK_SHIFT"])
true_time, true_time_ns = time.time, time.time_ns


def shift():
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return 0.0 if caller.startswith("waypost.adapters.sqlite") else SHIFT


time.time = lambda: true_time() + shift()
time.time_ns = lambda: true_time_ns() + int(shift() * 1e9)

# Not datetime itself: msgspec does not take another class for it. Our code asks for the time here.
from waypost.kernel import clock

clock.utc_now = lambda: datetime.datetime.fromtimestamp(time.time(), datetime.UTC)
"""


def wrong_clock(folder: Path, seconds: float) -> dict[str, str]:
    """The environment of a process whose clock is off by so many seconds."""
    path = folder / "clock"
    path.mkdir(exist_ok=True)
    (path / "sitecustomize.py").write_text(_SITECUSTOMIZE)
    paths = [str(path), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CHAOS_CLOCK_SHIFT": str(seconds)}
