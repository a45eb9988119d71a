"""Starting a server on one core, and waiting until it answers."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from bench.importing.watching import RunFailed
from bench.jobs.cpu import family
from bench.places.systems import Serving
from support.servers.sharing import find_program

_ROOT = Path(__file__).parents[3]
_PATIENCE = 120.0
_LOOK_SECONDS = 0.005


@contextmanager
def serving(
    command: Sequence[str], *, url: str, ready: str, core: int, folder: Path, env: Mapping[str, str]
) -> Iterator[Serving]:
    """Until it answers `ready` well. Its output goes to a file in the folder."""
    log = folder / "server.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [find_program("setpriv"), "--pdeathsig", "KILL", *on_core(core), *command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(process, url + ready, log)
        yield Serving(url, process.pid)
    finally:
        # Also those that it started: a worker of nginx outlives its master.
        for pid in family(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    give_up = time.monotonic() + _PATIENCE
    while not _answers(url):
        if process.poll() is not None or time.monotonic() > give_up:
            raise RunFailed(f"{url} never answered\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(_LOOK_SECONDS)


def _answers(url: str) -> bool:
    """With little work, because starting is measured too."""
    where = urlsplit(url)
    connection = HTTPConnection(where.netloc, timeout=30)
    try:
        connection.request("GET", f"{where.path}?{where.query}")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def on_core(core: int) -> list[str]:
    return [find_program("taskset"), "--cpu-list", str(core)]


def plain_environ(**more: str) -> dict[str, str]:
    """Nothing of the settings of whoever runs this."""
    left_out = ("WAYPOST_", "PYTHONPATH", "TIPG_", "PYGEOAPI_", "POSTGRES_", "PG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | more


def bench_python() -> str:
    """The Python of the environment that has the peers."""
    return str(_ROOT / ".venv-bench/bin/python")


def has_peer(package: str) -> bool:
    look = [bench_python(), "-c", f"import sys, importlib.util as u; sys.exit(not u.find_spec({package!r}))"]
    return os.access(look[0], os.X_OK) and not subprocess.run(look, check=False).returncode
