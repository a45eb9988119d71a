"""One server for a whole run, whichever of its processes asks first."""

import fcntl
import os
import secrets
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
# Above those of services that a machine may start at any time.
_LOWEST_PORT = 15_000


class ServerMissing(Exception):
    """A server that a test needs cannot be had: that is a failure, never a reason to skip."""


def free_port() -> int:
    """One that nobody else is given before the server listens on it: the kernel draws the ports of connections from a
    range above these, and another process of the tests cannot have the same mark.
    """
    lowest_of_kernel = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = secrets.SystemRandom().randrange(_LOWEST_PORT, lowest_of_kernel)
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0waypost-test-port-{port}")
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            mark.close()
        else:
            mark.detach()  # it stays with this process, and ends with it
            return port


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
