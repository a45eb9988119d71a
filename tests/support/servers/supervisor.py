"""Runs one server until the process it works for is gone. Called with its process id, a folder and the command."""

import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_GRACE_SECONDS = 10


def supervise(master: int, folder: Path, command: list[str]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        # Ctrl-C reaches the whole group; the server should outlive the tests that are just ending.
        signal.signal(number, signal.SIG_IGN)
    try:
        watched = [os.pidfd_open(master)]
    except ProcessLookupError:
        watched = []
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if watched:
        select.select([*watched, os.pidfd_open(server.pid)], [], [])
    server.send_signal(signal.SIGINT)
    try:
        server.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # another server of the run is still ending
        folder.parent.rmdir()


if __name__ == "__main__":
    supervise(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
