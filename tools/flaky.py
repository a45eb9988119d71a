"""Runs the suite many times, every second time beside a load, and lists what failed, how often and with which seeds.

tools/flaky.py --runs 6 -k phrases
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import Process
from pathlib import Path
from xml.etree import ElementTree as ET

# A run that takes longer hangs.
_MOST_SECONDS = 3600
_PATIENCE = 30
_MEBIBYTE = 1 << 20
_PASSED, _SOME_FAILED = 0, 1


@dataclass(frozen=True)
class Run:
    number: int
    seed: int
    loaded: bool
    # How pytest ended, or nothing if it was ended.
    code: int | None
    tests: int
    failed: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"run {self.number} ({'beside a load' if self.loaded else 'alone'}, seed {self.seed})"

    @property
    def verdict(self) -> str:
        if self.code is None:
            return f"not over after {_MOST_SECONDS} s, so it was ended"
        if self.code not in {_PASSED, _SOME_FAILED}:
            return f"pytest gave up with {self.code}"
        return f"{len(self.failed)} of {self.tests} tests failed"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests many times and list what failed.")
    parser.add_argument("--runs", type=int, default=6, help="how many times; every second one beside a load")
    asked, pytest_arguments = parser.parse_known_args()
    folder = Path(tempfile.mkdtemp(prefix="waypost-flaky-"))
    print(f"what each run says is in {folder}", flush=True)
    runs = []
    for number in range(1, asked.runs + 1):
        started = time.monotonic()
        runs.append(_run(folder, number, pytest_arguments, loaded=number % 2 == 0))
        print(f"{runs[-1].name}: {runs[-1].verdict}, {time.monotonic() - started:.0f} s", flush=True)
    for line in _failures(runs):
        print(line)
    return int(any(run.code != _PASSED for run in runs))


def _failures(runs: Sequence[Run]) -> Iterator[str]:
    """Each test that failed and the runs it failed in, the most frequent first."""
    found = defaultdict(list)
    for run in runs:
        for test in run.failed:
            found[test].append(run.name)
    for test, names in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"failed in {len(names)} of {len(runs)}: {test}"
        yield from (f"  {name}" for name in names)


def _run(folder: Path, number: int, arguments: Sequence[str], *, loaded: bool) -> Run:
    seed = random.SystemRandom().randrange(1 << 32)
    report = folder / f"run-{number}.xml"
    command = [sys.executable, "-m", "pytest", f"--numprocesses={2 * (os.cpu_count() or 1)}", f"--randomly-seed={seed}"]
    command += [f"--junit-xml={report}", *arguments]
    with (folder / f"run-{number}.txt").open("wb") as said, _load(folder, busy=loaded):
        code = _ended(subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True))
    return Run(number, seed, loaded, code, *_read(report))


def _ended(pytest: "subprocess.Popen[bytes]") -> int | None:
    """How it ended by itself; nothing if it took too long and was ended with what it had started."""
    try:
        return pytest.wait(_MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if pytest.poll() is None:
            os.killpg(pytest.pid, signal.SIGINT)
            try:
                pytest.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(pytest.pid, signal.SIGKILL)
                pytest.wait()


def _read(report: Path) -> tuple[int, tuple[str, ...]]:
    """How many tests there were, and which failed."""
    if not report.exists():
        return 0, ()
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 - our own pytest wrote it
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return len(cases), tuple(sorted({f"{case.get('classname')}::{case.get('name')}" for case in failed}))


@contextmanager
def _load(folder: Path, *, busy: bool) -> Iterator[None]:
    """A process for each core that computes, and one that writes to the disk and waits for it.

    They end with this one, however it ends.
    """
    parent = os.getpid()
    workers = [Process(target=_compute, args=(parent,), daemon=True) for _ in range(os.cpu_count() or 1)]
    workers.append(Process(target=_write, args=(parent, folder / "load"), daemon=True))
    for worker in workers if busy else ():
        worker.start()
    try:
        yield
    finally:
        for worker in workers if busy else ():
            worker.kill()
            worker.join()
        (folder / "load").unlink(missing_ok=True)


def _compute(parent: int) -> None:
    while os.getppid() == parent:
        sum(range(10_000))


def _write(parent: int, path: Path) -> None:
    piece = os.urandom(_MEBIBYTE)
    with path.open("wb", buffering=0) as file:
        while os.getppid() == parent:
            file.seek(0)
            for _ in range(64):
                file.write(piece)
                os.fsync(file.fileno())


if __name__ == "__main__":
    sys.exit(main())
