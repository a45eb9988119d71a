"""A worker whose clock is wrong, made without another library: Python reads this before anything else.

SQLite keeps its true clock. It lives inside the worker's process and has no other clock than the machine's, so that a
machine whose clock is wrong is always of one mind with its file; what is wrong here is the clock of one machine among
those that share a job store.
"""

import os
from pathlib import Path

_SITECUSTOMIZE = '''
import datetime, os, sys, time

SHIFT = float(os.environ["CHAOS_CLOCK_SHIFT"])
true_time, true_time_ns, true_datetime = time.time, time.time_ns, datetime.datetime


def shift():
    """None for SQLite, which stands in for a machine of its own."""
    return 0.0 if sys._getframe(2).f_globals.get("__name__", "").startswith("waypost.adapters.sqlite") else SHIFT


def shifted_time():
    return true_time() + shift()


def shifted_time_ns():
    return true_time_ns() + int(shift() * 1e9)


class Kind(type):
    def __instancecheck__(cls, value):
        return isinstance(value, true_datetime)


class datetime_shifted(true_datetime, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return true_datetime.now(tz) + datetime.timedelta(seconds=SHIFT)

    @classmethod
    def utcnow(cls):
        return true_datetime.utcnow() + datetime.timedelta(seconds=SHIFT)


time.time, time.time_ns, datetime.datetime = shifted_time, shifted_time_ns, datetime_shifted
'''


def wrong_clock(folder: Path, seconds: float) -> dict[str, str]:
    """The environment of a process whose clock is off by so many seconds."""
    path = folder / "clock"
    path.mkdir(exist_ok=True)
    (path / "sitecustomize.py").write_text(_SITECUSTOMIZE)
    paths = [str(path), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CHAOS_CLOCK_SHIFT": str(seconds)}
