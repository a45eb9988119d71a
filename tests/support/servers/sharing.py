"""One server for a whole run, whichever of its processes asks first."""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_PATIENCE = 60.0
_TESTS = Path(__file__).parents[2]
# Kept, because they outlive whoever started them.
_supervisors: list["subprocess.Popen[bytes]"] = []


class ServerMissing(Exception):
    """A server that a test needs cannot be had: that is a failure, never a reason to skip."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def find_program(*candidates: str) -> str:
    for candidate in candidates:
        if found := shutil.which(candidate):
            return found
    raise ServerMissing(f"none of {', '.join(candidates)} is installed; `make test` installs them")


def run_process() -> int:
    """The process that is the whole run: with parallel workers, the one that started them."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


def shared(name: str, start: Callable[[Path], str]) -> str:
    """The address of the run's server of this name; `start` is called once, with an empty folder."""
    run = run_process()
    # A process id comes back one day; with its start it does not.
    born = Path(f"/proc/{run}/stat").read_text().rpartition(")")[2].split()[19]
    meeting = Path(tempfile.gettempdir()) / f"waypost-tests-{run}-{born}"
    meeting.mkdir(exist_ok=True, mode=0o755)
    folder = meeting / name
    descriptor = os.open(meeting, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not (folder / "address").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            address = start(folder)
            (folder / "address").write_text(address)
    finally:
        os.close(descriptor)
    return (folder / "address").read_text()


def supervised(folder: Path, command: list[str], is_up: Callable[[], bool]) -> None:
    """Start a server that ends with the run, and wait until it answers."""
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "support.servers.supervisor", str(run_process()), str(folder), *command],
        cwd=_TESTS,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    _supervisors.append(supervisor)
    give_up = time.monotonic() + _PATIENCE
    while not is_up():
        if supervisor.poll() is not None or time.monotonic() > give_up:
            log = folder / "server.log"
            raise ServerMissing(f"{command[0]} did not start: {log.read_text() if log.exists() else 'no log'}")
        time.sleep(0.05)
