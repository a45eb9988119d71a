"""A server of one test's own, which it may kill and start again on the same data."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from support.servers import mongo, nginx, postgres, redis
from support.servers.sharing import ServerMissing, find_program, free_port

_PATIENCE = 60.0


class PrivateServer:
    """It ends with the process that started it, also when that is killed."""

    def __init__(self, command: list[str], folder: Path, is_up: Callable[[], bool]) -> None:
        self._command = [find_program("setpriv"), "--pdeathsig", "KILL", *command]
        self._folder = folder
        self._is_up = is_up
        self._process: subprocess.Popen[bytes] | None = None
        self._was_killed = False

    def start(self) -> None:
        """Returns once it answers."""
        self._process = self._begin()
        give_up = time.monotonic() + _PATIENCE
        while not self._is_up():
            has_ended = self._process.poll() is not None
            if (has_ended and not self._was_killed) or time.monotonic() > give_up:
                raise ServerMissing((self._folder / "server.log").read_text(errors="replace")[-2000:])
            time.sleep(0.02)
            if has_ended:
                # Children of one that was killed, as PostgreSQL's, keep others off until they have noticed.
                self._process = self._begin()

    def _begin(self) -> "subprocess.Popen[bytes]":
        with (self._folder / "server.log").open("ab") as log:
            return subprocess.Popen(self._command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self) -> None:
        """SIGKILL: it has no chance to write anything more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._was_killed = True


@contextmanager
def private_postgres() -> Iterator[tuple[str, PrivateServer]]:
    with own_folder() as folder:
        port = free_port()
        postgres.make_cluster(folder, port)
        with running(postgres.command(folder), folder, lambda: postgres.answers(port)) as server:
            yield f"postgresql://app@127.0.0.1:{port}/postgres", server


@contextmanager
def private_redis() -> Iterator[tuple[str, PrivateServer]]:
    """With each change on disk before it is answered: what it does otherwise is documented, and no defect."""
    with own_folder() as folder:
        port = free_port()
        command = redis.command(port, folder, "--appendonly", "yes", "--appendfsync", "always")
        with running(command, folder, lambda: redis.answers(port)) as server:
            yield f"redis://127.0.0.1:{port}", server


@contextmanager
def private_mongod(*options: str) -> Iterator[tuple[str, PrivateServer]]:
    with own_folder() as folder:
        port = free_port()
        up = mongo.answers
        with running([*mongo.command(port, folder), *options], folder, lambda: up(port)) as server:
            mongo.initiate(port)
            up = mongo.accepts_writes
            yield f"mongodb://127.0.0.1:{port}/chaos?replicaSet=rs0", server


@contextmanager
def private_nginx(root: Path) -> Iterator[nginx.Nginx]:
    """Serves the files in a folder."""
    with own_folder() as folder:
        port, tls_port = free_port(), free_port()
        command = nginx.command(port, tls_port, folder, root)
        with running(command, folder, lambda: nginx.answers(port)):
            yield nginx.Nginx(
                f"http://127.0.0.1:{port}",
                f"https://127.0.0.1:{tls_port}",
                folder / "certificate.pem",
                folder / "access.log",
            )


@contextmanager
def private_proxy(server: str) -> Iterator[str]:
    """An nginx with this `server` block, in which `{port}` stands for the port; yields its address."""
    with own_folder() as folder:
        port = free_port()
        command = nginx.command_for(server.replace("{port}", str(port)), folder)
        with running(command, folder, lambda: nginx.answers(port)):
            yield f"http://127.0.0.1:{port}"


@contextmanager
def running(command: list[str], folder: Path, is_up: Callable[[], bool]) -> Iterator[PrivateServer]:
    server = PrivateServer(command, folder, is_up)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def own_folder() -> Iterator[Path]:
    """Short, because a socket's path must be; and readable for the user that PostgreSQL becomes."""
    with TemporaryDirectory(prefix="waypost-own-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755 if os.getuid() == 0 else 0o700)
        yield folder
