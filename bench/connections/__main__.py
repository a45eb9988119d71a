"""`make bench-connections`: bytes for each idle connection, and redirects and probes among ten thousand of them."""

import argparse
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory

from bench.connections.crowd import ask, connect, count_closed, idle_crowd
from bench.importing.watching import RunFailed
from bench.places.memory import memory_of
from bench.places.systems import Serving
from bench.places.systems.starting import plain_environ, serving
from support.servers.sharing import free_port

_HOST = b"HTTP/1.1\r\nHost: go.example.org\r\n"
_REDIRECT = b"GET /gently-golden-otter " + _HOST + b"\r\n"
_PROBE = b"GET /livez " + _HOST + b"\r\n"
# What a connection has asked before it is idle.
_ASKED = {
    "a redirect, answered from memory": (_REDIRECT, b"302"),
    "a probe, answered by FastAPI": (_PROBE, b"200"),
    "a probe with headers of 60 KB": (_PROBE[:-2] + b"X-Large: " + b"x" * 60_000 + b"\r\n\r\n", b"200"),
}
_MIB = 1024**2


@dataclass
class Latency:
    """Milliseconds: half of the answers are quicker than the first, and all but one in a hundred than the second."""

    seconds: list[float]

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        return f"p50 {ordered[len(ordered) // 2] * 1000:.2f} ms, p99 {ordered[len(ordered) * 99 // 100] * 1000:.2f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-connections", description=__doc__)
    parser.add_argument("--connections", type=int, default=10_000, help="how many are idle")
    parser.add_argument("--times", type=int, default=2000, help="how often each thing is asked for")
    chosen = parser.parse_args()
    count = chosen.connections
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 1500:
        print(f"ulimit -n {count + 1500} is needed here and for the server; it is {hard}", file=sys.stderr)
        return 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        for name, asked in _ASKED.items():
            _measure(count, chosen.times, name, asked)
    except RunFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    return 0


def _measure(count: int, times: int, name: str, asked: tuple[bytes, bytes]) -> None:
    print(f"{count:,} idle connections, after {name}:", flush=True)
    with TemporaryDirectory(prefix="waypost-bench-") as folder, _server(Path(folder), count) as started:
        port = int(started.url.rpartition(":")[2])
        with connect(port) as established:
            alone = _times(port, established, times)
            before = memory_of(started.pid, Path(folder)).anonymous
            with idle_crowd(port, count, *asked) as crowd:
                each = (memory_of(started.pid, Path(folder)).anonymous - before) * _MIB / count
                print(f"  {each:,.0f} bytes each in the process", flush=True)
                among = _times(port, established, times)
                if closed := count_closed(crowd):
                    raise RunFailed(f"{closed} of the idle connections were closed")
    for what in alone:
        print(f"  {what}: alone {alone[what]}; among them {among[what]}", flush=True)


def _times(port: int, established: socket.socket, times: int) -> dict[str, Latency]:
    new: list[float] = []
    for number in range(times):
        with connect(port, number) as sock:
            new.append(ask(sock, _PROBE, b"200"))
    return {
        "redirect": Latency([ask(established, _REDIRECT, b"302") for _ in range(times)]),
        "probe": Latency([ask(established, _PROBE, b"200") for _ in range(times)]),
        "probe on a new connection": Latency(new),
    }


@contextmanager
def _server(folder: Path, count: int) -> Iterator[Serving]:
    port = free_port()
    # Longer than it takes to connect them all; the bound is above them, and that of a client is the default.
    chosen = {"WAYPOST_LISTEN_KEEP_ALIVE": "10m", "WAYPOST_LISTEN_CONNECTIONS": str(count + 500)}
    env = plain_environ(WAYPOST_DATA=str(folder), **chosen)
    waypost = [sys.executable, "-m", "waypost"]
    made = [*waypost, "link", "create", "https://example.org/", "--phrase", "gently-golden-otter"]
    run(made, env=env, cwd=folder, check=True, capture_output=True, timeout=60)
    serve = [*waypost, "serve", "redirect", "--port", str(port)]
    with serving(serve, url=f"http://127.0.0.1:{port}", ready="/readyz", core=0, folder=folder, env=env) as started:
        yield started


if __name__ == "__main__":
    sys.exit(main())
