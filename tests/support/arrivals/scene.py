"""One provider, and processes of workers that come and go."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from support.arrivals.notes import Arrival

_ROOT = Path(__file__).parents[3]
_PATIENCE = 60.0


class ChildFailed(Exception):
    """A process ended, or did not answer in time."""


class Child:
    """A process of ours that obeys and answers, a line each."""

    def __init__(self, python: str, module: str, *arguments: object) -> None:
        self._name = module
        self._process = subprocess.Popen(
            [python, "-m", module, *map(str, arguments)],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT / "tests")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._heard = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """SIGKILL: it has no chance to do anything more."""
        self._process.kill()
        self._process.communicate(timeout=_PATIENCE)

    def say(self, command: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n".encode())

    def hear(self) -> str:
        """Its next line."""
        assert self._process.stdout
        give_up = time.monotonic() + _PATIENCE
        while b"\n" not in self._heard:
            # Not select(), which knows the first 1,024 files alone.
            waiting = select.poll()
            waiting.register(self._process.stdout, select.POLLIN)
            ready = waiting.poll(max(0.0, give_up - time.monotonic()) * 1000)
            said = os.read(self._process.stdout.fileno(), 1 << 16) if ready else b""
            if not said:
                raise ChildFailed(f"{self._name} {'ended' if ready else 'does not answer'}")
            self._heard += said
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode()

    def ask(self, command: str) -> str:
        self.say(command)
        return self.hear()


class Provider:
    def __init__(self, child: Child) -> None:
        self._child = child
        self.port = int(child.hear())

    def hold(self) -> int:
        """Let everybody who comes wait for an answer; the time from when on that is so, as with the next two."""
        return int(self._child.ask("hold"))

    def refuse(self, retry_after: str) -> int:
        return int(self._child.ask(f"refuse {retry_after}"))

    def allow(self) -> int:
        return int(self._child.ask("allow"))

    def wait(self, count: int) -> int:
        """Until so many have come in all."""
        return int(self._child.ask(f"wait {count}"))

    def wait_for_more(self, count: int) -> int:
        return self.wait(len(self.arrivals()) + count)

    def arrivals(self) -> list[Arrival]:
        return [Arrival(*noted) for noted in json.loads(self._child.ask("notes"))]


class Scene:
    def __init__(self, provider: Provider, url: str, rate: int, limiter: str, python: str) -> None:
        self.provider = provider
        self.crews: list[Child] = []
        self._worker = limiter, url, rate, provider.port
        self._python = python

    def add(self, processes: int, *, workers: int) -> list[Child]:
        """So many more processes with so many workers each, once all are at work."""
        added = [Child(self._python, "support.arrivals.worker", *self._worker, workers) for _ in range(processes)]
        self.crews += added
        for child in added:
            child.hear()
        for child in added:
            child.say("begin")
        return added


@contextmanager
def scene(
    url: str, rate: int, *, limiter: str = "support.arrivals.waypost", python: str = sys.executable
) -> Iterator[Scene]:
    """Nobody works yet."""
    with Child(sys.executable, "support.arrivals.provider") as child:
        made = Scene(Provider(child), url, rate, limiter, python)
        try:
            yield made
        finally:
            for crew in made.crews:
                crew.kill()
