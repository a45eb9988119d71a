"""Real processes: `waypost` as a person starts it, in a folder of its own, ended by its id."""

import ctypes
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import msgspec

_PATIENCE = 60.0
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH, _PR_CAPBSET_DROP = 1, 2, 24


class Running:
    """One started process, whose output can be waited for."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        assert process.stdout
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first line of output that matches, from where the last wait ended."""
        give_up = time.monotonic() + _PATIENCE
        while True:
            line = self._queue.get(timeout=max(0.0, give_up - time.monotonic()))
            if line is None:
                raise AssertionError(f"the process ended ({self.process.wait()}) without {pattern!r}: {self.lines}")
            self.lines.append(line)
            if match := re.search(pattern, line):
                return match

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(timeout=_PATIENCE)

    def rest(self) -> str:
        """What it said until it ended."""
        while (line := self._queue.get(timeout=_PATIENCE)) is not None:
            self.lines.append(line)
        return "\n".join(self.lines)


class Processes:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Running] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        for running in self._started:
            if running.process.poll() is None:
                running.process.kill()
            running.process.wait()
            assert running.process.stdout
            running.process.stdout.close()

    def start(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        preexec: Callable[[], None] | None = None,
    ) -> Running:
        """Output and errors arrive in one stream, in their order."""
        process = subprocess.Popen(
            [sys.executable, "-m", "waypost", *arguments],
            cwd=self.folder,
            env=self._environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=preexec,
        )
        running = Running(process)
        self._started.append(running)
        return running

    def run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        preexec: Callable[[], None] | None = None,
        stdout: IO[str] | int = subprocess.PIPE,
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "waypost", *arguments],
            cwd=self.folder,
            env=self._environment(env),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_PATIENCE,
            check=False,
            preexec_fn=preexec,
        )

    def json(self, *arguments: str, env: Mapping[str, str] | None = None) -> Any:
        """What a command prints in the end; some print events before."""
        done = self.run(*arguments, "--json", env=env)
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout.splitlines()[-1])

    def simulator(self, *arguments: str) -> str:
        """Start a simulated provider on a free port; its address."""
        running = self.start("simulator", "run", "--port", "0", *arguments)
        return running.wait_for(r"is at (http://\S+)")[1]

    def serve(self, what: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        running = self.start("serve", what, "--port", "0", *arguments, env=env)
        return running.wait_for(r"serves at (http://\S+)")[1]

    def up(self, *arguments: str, env: Mapping[str, str] | None = None) -> tuple[Running, str]:
        running = self.start("up", "--port", "0", *arguments, env=env)
        return running, running.wait_for(r"Waypost is up at (http://\S+)")[1]

    @staticmethod
    def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
        """Nothing of the developer's own settings reaches a test."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        return clean | {"PYTHONUNBUFFERED": "1"} | dict(more or {})


def eventually(check: Callable[[], Any], what: str) -> Any:
    """The first true answer of a check that is asked again and again; for what gives no signal of its own."""
    give_up = time.monotonic() + _PATIENCE
    while not (answer := check()):
        assert time.monotonic() < give_up, f"never: {what}"
        threading.Event().wait(0.02)
    return answer


def obey_permissions() -> None:
    """For a child process: even root is held to a folder's permissions without these two capabilities."""
    libc = ctypes.CDLL(None)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
