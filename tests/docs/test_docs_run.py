"""Every ```console block of the documentation is run, document by document, as a person would type it.

A line after `$ ` is a command; the lines below it are what it prints, compared loosely. A command that ends with `&` is
a server: it is started, its first words are awaited, and it is ended by its id. Ports are exchanged for free ones.
"""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.servers.sharing import free_port

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PATIENCE = 60.0

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DOCUMENTED_PORT = re.compile(r"\b80(?:8[0-9]|9[0-9])\b")
_WORDS_COMPARED = 3
_GENERATION = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
_DRAWN_PHRASE = re.compile(r"(?<=\d/)[a-z]+-[a-z]+-[a-z]+$")


@dataclass
class Step:
    command: str
    shown: list[str] = field(default_factory=list)

    @property
    def is_server(self) -> bool:
        return self.command.endswith("&")

    @property
    def fails(self) -> bool:
        """A document that shows a complaint shows a failure."""
        return any(line.startswith(("waypost: ", "FAIL ")) for line in self.shown)

    @property
    def expected(self) -> list[str]:
        return [line for line in self.shown if line.strip() not in {"", "…"}]

    def missing(self, output: str) -> list[str]:
        """What the document shows and the output does not have."""
        lines = [" ".join(line.split()) for line in output.splitlines()]
        return [line for line in self.expected if not any(_pattern(line).match(each) for each in lines)]


def steps_of(document: Path) -> list[Step]:
    steps: list[Step] = []
    for block in _BLOCK.findall(document.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line.removeprefix("$ ")))
            else:
                assert steps, f"{document}: a console block begins with a command"
                steps[-1].shown.append(line)
    return steps


def _pattern(line: str) -> re.Pattern[str]:
    """The first words of a line; numbers may differ unless they are single digits, and … stands for anything."""
    words = " ".join(line.split()[:_WORDS_COMPARED]).partition("…")[0].strip()
    return re.compile(_loosely(words))


def _loosely(words: str) -> str:
    words = _GENERATION.sub("<generation>", words)
    words = _DRAWN_PHRASE.sub("<phrase>", words)
    pattern = re.sub(r"\d{2,}", r"\\d+", re.escape(words))
    return pattern.replace("<generation>", _GENERATION.pattern).replace("<phrase>", r"[a-z]+-[a-z]+-[a-z]+")


class Server:
    """A process in the background, whose output is read as it comes."""

    def __init__(self, command: str, env: dict[str, str], folder: Path) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def await_output(self, step: Step) -> None:
        heard = ""
        deadline = time.monotonic() + PATIENCE
        while step.missing(heard):
            try:
                line = self._lines.get(timeout=deadline - time.monotonic())
            except (queue.Empty, ValueError):
                line = None
            assert line is not None, f"{step.command}\nshould print {step.missing(heard)}\nand printed:\n{heard}"
            heard += line

    def end(self) -> int:
        """As `kill` does; a server that does not end by itself is a failure, and is ended all the same."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._reader.join(timeout=15)
            assert self._process.stdout
            self._process.stdout.close()


class Shell:
    """Runs commands one after the other; variables, the folder and servers stay, as in a terminal."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = folder / ".state"
        self._ports: dict[str, str] = {}
        self._servers: dict[int, Server] = {}
        self._started = 0
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        self._env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{self._env['PATH']}"
        self._env["HOME"] = str(folder)
        # What the documents call 8080 is also the port that links name before anybody has served them.
        self._env["WAYPOST_LISTEN_PORT"] = self._port("8080")

    def run(self, step: Step) -> None:
        command = _DOCUMENTED_PORT.sub(lambda found: self._port(found[0]), step.command)
        if step.is_server:
            self._start(step, command)
        elif command.startswith("kill %"):
            for number in re.findall(r"%(\d+)", command):
                assert self._servers.pop(int(number)).end() == 0
        else:
            self._call(step, command)

    def close(self) -> None:
        while self._servers:
            self._servers.popitem()[1].end()

    def _port(self, documented: str) -> str:
        if documented not in self._ports:
            self._ports[documented] = str(free_port())
        return self._ports[documented]

    def _start(self, step: Step, command: str) -> None:
        self._started += 1
        self._servers[self._started] = Server(command.removesuffix("&").strip(), self._env, self._folder)
        self._servers[self._started].await_output(step)

    def _call(self, step: Step, command: str) -> None:
        """A visit is counted a moment after its redirect, so that a look at a link may be repeated."""
        give_up_at = time.monotonic() + PATIENCE
        while True:
            code, output = self._once(command)
            missing = step.missing(output)
            assert (code != 0) == step.fails, f"{command}\nended with {code}:\n{output}"
            if not missing:
                return
            patient = command.startswith("waypost link show") and time.monotonic() < give_up_at
            assert patient, f"{command}\nshould print {missing}\nand printed:\n{output}"

    def _once(self, command: str) -> tuple[int, str]:
        script = f'set -a\n{command}\ncode=$?\n{{ pwd; env -0; }} > "{self._state}"\nexit $code'
        done = subprocess.run(
            ["bash", "-c", script],
            env=self._env,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        folder, _, variables = self._state.read_text(encoding="utf-8").partition("\n")
        self._folder = Path(folder)
        self._env = dict(pair.split("=", 1) for pair in variables.split("\0") if "=" in pair)
        return done.returncode, done.stdout


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    opened = Shell(tmp_path)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "document",
    [pytest.param(each, id=str(each.relative_to(ROOT))) for each in DOCUMENTS if steps_of(each)],
)
def test_a_document_does_what_it_says(document: Path, shell: Shell) -> None:
    for step in steps_of(document):
        shell.run(step)


def test_the_tour_and_the_tutorial_have_commands() -> None:
    for name in ("README.md", "docs/tutorial/first-steps.md"):
        commands = " ".join(step.command for step in steps_of(ROOT / name))
        for needed in ("simulator run", "import run", "snapshot build", "serve places", "link create", "serve links"):
            assert needed in commands, f"{name} does not show {needed}"
