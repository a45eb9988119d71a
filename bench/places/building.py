"""How long a build takes with one and with two processes, beside a pure loop that shows what two cores can do; and how
much memory all its processes take together.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from statistics import median

from bench.importing.watching import RunFailed
from bench.places.memory import shares_of_tree
from bench.places.systems.starting import plain_environ

Say = Callable[[str], None]
PROCESSES = (1, 2)
_LOOK_SECONDS = 0.05
_LOOP = "for _ in range({count}): pass"


@dataclass(frozen=True)
class Built:
    """Seconds of each round, by the number of processes; MiB at the most, with two of them."""

    seconds: dict[int, list[float]]
    loop_seconds: dict[int, list[float]]
    peak: float

    @property
    def speed_up(self) -> float:
        return median(_speed_ups(self.seconds))

    @property
    def loop_speed_up(self) -> float:
        return median(_speed_ups(self.loop_seconds))

    @property
    def of_the_loop(self) -> float:
        """The middle of what each round gave, as the two of a round had the same machine."""
        rounds = zip(_speed_ups(self.seconds), _speed_ups(self.loop_seconds), strict=True)
        return median([own / of_the_loop for own, of_the_loop in rounds])


def _speed_ups(seconds: dict[int, list[float]]) -> list[float]:
    """Of each round."""
    return [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]


def build(places: Path, data: Path, processes: int) -> float:
    """Seconds of `waypost snapshot build`, with starting Python."""
    began = time.monotonic()
    _finish(_start(places, data, processes), _log(data))
    return time.monotonic() - began


def measure_building(places: Path, data: Path, *, rounds: int, loop: int, say: Say) -> Built:
    """Leaves a snapshot in `data`. `loop` is how far the pure loop counts, in all its processes together."""
    seconds: dict[int, list[float]] = {count: [] for count in PROCESSES}
    loops: dict[int, list[float]] = {count: [] for count in PROCESSES}
    for number in range(rounds):
        for count in PROCESSES:
            seconds[count].append(build(places, data, count))
            rmtree(data)
            loops[count].append(_loop(loop, count))
        taken = ", ".join(f"{each[-1]:.1f} s" for each in [*seconds.values(), *loops.values()])
        say(f"round {number + 1}: build with 1 and 2 processes, loop with 1 and 2: {taken}")
    # By itself, because counting pages takes time from those who have them.
    peak = _peak(places, data)
    say(f"build: at most {peak:.0f} MiB")
    return Built(seconds, loops, peak)


def _start(places: Path, data: Path, processes: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "waypost", "snapshot", "build", "--from", str(places), "--data", str(data)]
    with _log(data).open("wb") as log:
        return subprocess.Popen(
            [*command, "--processes", str(processes)],
            cwd=data.parent,
            env=plain_environ(WAYPOST_LOG_LEVEL="warning"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _log(data: Path) -> Path:
    return data.with_suffix(".log")


def _finish(process: "subprocess.Popen[bytes]", log: Path | None = None) -> None:
    if process.wait():
        said = log.read_text(errors="replace")[-4000:] if log else ""
        raise RunFailed(f"{process.args!r}: {process.returncode}\n{said}")


def _peak(places: Path, data: Path) -> float:
    process, most = _start(places, data, max(PROCESSES)), 0.0
    end = os.pidfd_open(process.pid)
    try:
        while not select.select([end], [], [], _LOOK_SECONDS)[0]:
            most = max(most, shares_of_tree(process.pid))
        _finish(process, _log(data))
    finally:
        os.close(end)
        process.kill()
    return most


def _loop(count: int, processes: int) -> float:
    began = time.monotonic()
    command = [sys.executable, "-c", _LOOP.format(count=count // processes)]
    for process in [subprocess.Popen(command) for _ in range(processes)]:
        _finish(process)
    return time.monotonic() - began
