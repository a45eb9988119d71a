"""Running a command to its end while watching what it takes: time, processor, and memory of each of its processes."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

_LOOK_SECONDS = 0.05
_PATIENCE = 3600.0
_TAIL = 4000


class RunFailed(Exception):
    """A process that was to be measured did not do its work."""


@dataclass(frozen=True)
class Taken:
    """`peak` is the most memory that one of its processes had, in MiB; `said` is its last line."""

    wall_seconds: float
    cpu_seconds: float
    peak: float
    said: str


def watch(command: Sequence[str], *, folder: Path, env: Mapping[str, str]) -> Taken:
    """Raises RunFailed, with what it said."""
    # Files, because nobody reads along: a pipe would fill up.
    with TemporaryFile() as out, TemporaryFile() as errors:
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        try:
            peak = _peak_until_end(process.pid, began + _PATIENCE)
            wall = time.monotonic() - began
        finally:
            # It has ended, or must. What its own children took is counted with it.
            os.kill(process.pid, signal.SIGKILL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        lines = out.read().decode().splitlines()
        if process.returncode or not lines:
            errors.seek(0)
            raise RunFailed(f"{' '.join(command)}: {process.returncode}\n{errors.read().decode()[-_TAIL:]}")
    return Taken(wall, used.ru_utime + used.ru_stime, peak / 1024, lines[-1])


def _peak_until_end(pid: int, give_up: float) -> int:
    """In KiB. The kernel keeps the peaks, so that looking now and then misses no more than the last moment."""
    peak = 0
    end = os.pidfd_open(pid)
    try:
        while not select.select([end], [], [], _LOOK_SECONDS)[0]:
            peak = max(peak, *(_peak_of(each) for each in [pid, *_children(pid)]))
            if time.monotonic() > give_up:
                raise RunFailed(f"process {pid} does not end")
    finally:
        os.close(end)
    return peak


def _peak_of(pid: int) -> int:
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def _children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for thread in threads for child in _read(thread / "children").split()]


def _read(path: Path) -> str:
    """Nothing of a process that has ended."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
