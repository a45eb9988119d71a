"""Processor time, which other work on the machine changes far less than it changes the time on the wall."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: list[int]) -> float:
    return sum(int(tick) for pid in pids for tick in _stat(pid)[11:13]) / _TICKS


def family(parent: int) -> list[int]:
    """The process and its children."""
    everybody = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [parent, *(pid for pid in everybody if _parent(pid) == parent)]


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _stat(pid: int) -> list[str]:
    """From the third field on: the second, the name, may have spaces in it. Nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
