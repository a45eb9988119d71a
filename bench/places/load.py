"""Asking over HTTP, from a core of its own: as much as a server can answer, and at a fixed rate.

wrk finds the peak: its connections share one list of URIs. h2load, which can hold a rate, has each of its connections
ask the whole list, all at the same time, and a server that remembers what it found would have to look once for all of
them; there, each connection has a process and a list of its own.
"""

import math
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from bench.importing.watching import RunFailed
from bench.places.systems.starting import on_core
from support.servers.sharing import find_program

_SCRIPT = Path(__file__).parent / "programs" / "ask.lua"
# h2load looks every 10 ms who is due: a connection that asks less often would ask together with all others.
_EACH_A_SECOND, _MOST_CONNECTIONS = 100, 16
# A process of h2load has so many URIs at least before it begins anew.
_LEAST_URIS = 100
_HELD = 0.9
# How `timeout` ends when it had to end the other.
_TIMED_OUT = 124
_PATIENCE = 60.0


@dataclass
class Deck:
    """The URIs of one system and kind, dealt in a circle: what was asked lately is not asked soon again.

    `script` is what wrk makes requests of them with, `headers` what h2load sends with each, and `status` what each is
    to be answered with.
    """

    url: str
    paths: Sequence[str]
    at: int = 0
    script: Path = _SCRIPT
    headers: Sequence[str] = ()
    status: int = HTTPStatus.OK

    def deal(self, count: int) -> list[str]:
        start = self.at
        self.skip(count)
        return [self.paths[(start + number) % len(self.paths)] for number in range(min(count, len(self.paths)))]

    def skip(self, count: int) -> None:
        """They were asked by somebody who has the whole deck."""
        self.at = (self.at + count) % len(self.paths)


class Answered(msgspec.Struct, frozen=True):
    """In seconds, and milliseconds for the percentiles."""

    requests: int
    seconds: float
    p50: float
    p99: float

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


@dataclass(frozen=True)
class Held:
    """`asked` and `answered` a second; latencies in milliseconds."""

    asked: float
    answered: float
    p50: float
    p99: float


def peak(deck: Deck, *, connections: int, seconds: float, core: int) -> Answered:
    """Each connection asks again as soon as it is answered. Raises RunFailed when an answer was not good."""
    with TemporaryDirectory(prefix="waypost-bench-") as folder:
        uris = Path(folder) / "uris"
        uris.write_text("\n".join(deck.paths) + "\n")
        command = [find_program("wrk"), "-t1", f"-c{connections}", f"-d{math.ceil(seconds)}s", "--timeout", "30s"]
        if seconds < 1:
            # Less it does not know, but it listens, unless it has not begun yet.
            command = ["timeout", "--signal", "INT", f"{seconds}s", *command]
        given = ["-s", str(deck.script), deck.url, "--", str(uris), str(deck.at)]
        done = _run([*on_core(core), *command, *given], also=_TIMED_OUT)
    said = re.search(r"^\{.*\}$", done, re.MULTILINE)
    if not said and seconds >= 1:
        raise RunFailed(f"{deck.url}: wrk said {done[-1000:]}")
    report: dict[str, float] = msgspec.json.decode(said[0]) if said else {"requests": 0, "failed": 0}
    if report["failed"]:
        raise RunFailed(f"{deck.url}{deck.paths[deck.at]} and so on: {report}")
    if not report["requests"]:
        if seconds > _PATIENCE:
            raise RunFailed(f"{deck.url}{deck.paths[deck.at]}: no answer in {seconds:.0f} s")
        return peak(deck, connections=connections, seconds=4 * seconds, core=core)
    deck.skip(int(report["requests"]))
    return Answered(int(report["requests"]), report["microseconds"] / 1e6, report["p50"] / 1000, report["p99"] / 1000)


def held(deck: Deck, *, rate: float, seconds: float, core: int, same_list: bool) -> Held:
    """At this rate; `same_list` where nobody gains by being asked the same by all at once, in a single process."""
    connections = min(_MOST_CONNECTIONS, max(1, round(rate / _EACH_A_SECOND)))
    lanes, clients = (1, connections) if same_list else (connections, 1)
    each = max(_LEAST_URIS, int(2 * rate * seconds / lanes))
    with TemporaryDirectory(prefix="waypost-bench-") as folder:
        started = []
        for lane in range(lanes):
            uris = Path(folder) / f"{lane}.uris"
            uris.write_text("\n".join(deck.url + path for path in deck.deal(each)) + "\n")
            given = [f"-c{clients}", "-t1", f"--rps={rate / connections:.4f}", f"--duration={seconds * 1000:.0f}ms"]
            given += [part for header in deck.headers for part in ("-H", header)]
            files = ["-i", str(uris), f"--log-file={uris.with_suffix('.log')}"]
            command = [*on_core(core), find_program("h2load"), "--h1", *given, *files]
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        said = [process.communicate(timeout=seconds + 60)[0] for process in started]
        logs = " ".join(path.read_text() for path in Path(folder).glob("*.log"))
    for process, text in zip(started, said, strict=True):
        if process.returncode or " 0 failed, 0 errored, 0 timeout" not in text:
            raise RunFailed(f"{deck.url}: h2load said {text[-1000:]}")
    # When it was asked, the status, and microseconds.
    rows = np.array(logs.split(), dtype=np.float64).reshape(-1, 3)
    if (rows[:, 1] != deck.status).any():
        raise RunFailed(f"{deck.url}{deck.paths[0]} and so on: {sorted(set(rows[:, 1]))}")
    p50, p99 = np.percentile(rows[:, 2], [50, 99]) / 1000 if len(rows) else (math.inf, math.inf)
    return Held(rate, len(rows) / seconds, float(p50), float(p99))


def keeps_up(found: Held) -> bool:
    return found.answered >= _HELD * found.asked


def touch(deck: Deck, count: int, *, core: int) -> None:
    """Ask so often, with no clock."""
    with TemporaryDirectory(prefix="waypost-bench-") as folder:
        uris = Path(folder) / "uris"
        uris.write_text("\n".join(deck.url + path for path in deck.deal(count)) + "\n")
        _run([*on_core(core), find_program("h2load"), "--h1", "-c1", "-t1", f"-n{count}", "-i", str(uris)])


def _run(command: Sequence[str], also: int = 0) -> str:
    """What it printed. Raises RunFailed unless it ends well, or with `also`."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"})
    if done.returncode not in {0, also}:
        raise RunFailed(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout
