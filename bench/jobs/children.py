"""Starting the processes of a system and talking to them."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.jobs.counter import Counter

_ROOT = Path(__file__).parents[2]
_PATIENCE = 300.0


class ChildFailed(Exception):
    """A process of a system ended, or did not answer in time."""


class Child:
    def __init__(self, python: str, role: str, system: str, url: str) -> None:
        self._name = f"{system} {role}"
        self._started = Counter()
        self._process = subprocess.Popen(
            [python, "-m", "bench.jobs.process", role, system, url, self._started.path],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def jobs_started(self) -> int:
        return self._started.value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._started.close()

    def ask(self, command: str) -> list[int]:
        """Send a command and return the times it answers with."""
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n".encode())
        return [int(word) for word in self.hear().split()]

    def hear(self) -> str:
        """Its next line."""
        return hear_first([self])

    def fileno(self) -> int:
        assert self._process.stdout
        return self._process.stdout.fileno()

    def read_line(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline().decode()
        if not line:
            raise ChildFailed(f"{self._name} ended")
        return line.strip()

    def finish(self) -> None:
        if self._process.wait(_PATIENCE):
            raise ChildFailed(f"{self._name} failed")


def hear_first(children: list[Child]) -> str:
    """The next line of whichever speaks first."""
    ready, _, _ = select.select(children, [], [], _PATIENCE)
    if not ready:
        raise ChildFailed("nobody answered")
    first: Child = ready[0]
    return first.read_line()


@contextmanager
def started(python: str, role: str, system: str, url: str, count: int = 1) -> Iterator[list[Child]]:
    """So many of them, once all are up."""
    children = [Child(python, role, system, url) for _ in range(count)]
    try:
        for child in children:
            child.hear()
        yield children
    finally:
        for child in children:
            child.__exit__(None, None, None)


def install(python: str, system: str, url: str) -> None:
    with Child(python, "install", system, url) as child:
        child.finish()


def python_of(system: str) -> str | None:
    """The Python that has the system's package, where there is one."""
    places = {"waypost": sys.executable, "floor": sys.executable, "oban": _ROOT / ".venv-bench-oban/bin/python"}
    python = str(places.get(system, _ROOT / ".venv-bench/bin/python"))
    return python if os.access(python, os.X_OK) else None
