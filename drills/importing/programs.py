"""`waypost` as a person starts it, each process with a log file of its own."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from support.servers.sharing import find_program

_PATIENCE = 120.0
_LOOK_SECONDS = 0.05


class ProgramFailed(Exception):
    """A process ended, did not say what it should, or said that it failed."""


class Program:
    """It ends with us, also when we are killed."""

    def __init__(self, folder: Path, name: str, *arguments: str, env: Mapping[str, str]) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [find_program("setpriv"), "--pdeathsig", "KILL", sys.executable, "-m", "waypost", *arguments],
                cwd=folder,
                env=_environment(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def said(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)

    async def says(self, pattern: str) -> re.Match[str]:
        give_up = time.monotonic() + _PATIENCE
        while not (match := self.said(pattern)):
            if not self.is_running or time.monotonic() > give_up:
                raise ProgramFailed(f"{self.name} never said {pattern!r}; see {self.log}")
            await asyncio.sleep(_LOOK_SECONDS)
        return match

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL; it is gone when this returns."""
        self._process.kill()
        self._process.wait(_PATIENCE)

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        try:
            return self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ProgramFailed(f"{self.name} did not end when it was asked to; see {self.log}") from None


async def run(folder: Path, *arguments: str, env: Mapping[str, str]) -> str:
    """What a command prints. Raises ProgramFailed with what it said instead."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "waypost", *arguments),
        cwd=folder,
        env=_environment(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, said = await asyncio.wait_for(process.communicate(), _PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise ProgramFailed(f"waypost {' '.join(arguments)} did not end") from None
    if process.returncode:
        raise ProgramFailed(f"waypost {' '.join(arguments)}: {said.decode()[-500:].strip()}")
    return out.decode()


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the settings of whoever runs this reaches it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    return clean | {"PYTHONUNBUFFERED": "1"} | dict(more)
