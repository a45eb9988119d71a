"""What a process gives to one that it starts: its settings, and an end when its own comes."""

import ctypes
import os
import signal
import sys

from waypost.settings import Settings

_PR_SET_PDEATHSIG = 1


def environ_of(settings: Settings) -> dict[str, str]:
    """The environment of a child process, with what was set by flags."""
    flags = {found.setting.variable: found.raw for found in settings.found.values() if found.origin == "flag"}
    sources = {"WAYPOST_SOURCES": ",".join(str(each.path) for each in settings.sources.values())}
    # Several processes cannot share one port.
    return {**os.environ, **flags, **sources, "WAYPOST_HEALTH_PORT": "0"}


def end_with(parent: int) -> None:
    """Has the system ask us to end when our parent process is gone, however it ended. Only Linux can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
