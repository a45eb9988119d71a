"""How many cores this process may use: those it may run on, and no more than its control groups let it have."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def available_cores(cgroups: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> int:
    """The number of cores, at least one. A share of a core counts as a whole one."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = (math.ceil(quota) for folder in _groups(cgroups, membership) for quota in _quotas(folder))
    return max(1, min([allowed, *quotas]))


def _groups(cgroups: Path, membership: Path) -> Iterator[Path]:
    """The group we are in and those around it, in either version of the interface."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = cgroups / controllers if controllers else cgroups
        group = top / path.lstrip("/")
        yield group
        yield from (parent for parent in group.parents if parent.is_relative_to(top))
    # In a container, the group we are in may be what is mounted there.
    yield cgroups
    yield cgroups / "cpu"


def _quotas(folder: Path) -> Iterator[float]:
    for read in (_read_quota, _read_older_quota):
        try:
            quota, period = read(folder)
            if int(quota) > 0:
                yield int(quota) / int(period)
        except (OSError, ValueError):  # there is none, or it is `max`
            pass


def _read_quota(folder: Path) -> tuple[str, str]:
    quota, period = (folder / "cpu.max").read_text().split()
    return quota, period


def _read_older_quota(folder: Path) -> tuple[str, str]:
    return (folder / "cpu.cfs_quota_us").read_text(), (folder / "cpu.cfs_period_us").read_text()
