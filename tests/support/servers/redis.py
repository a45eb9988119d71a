"""A private Redis."""

import socket
from pathlib import Path

from support.servers.sharing import find_program, free_port, shared, supervised


def address() -> str:
    """Where the run's Redis is, as redis://127.0.0.1:PORT, without a database."""
    return shared("redis", _start)


def command(port: int, folder: Path, *options: str) -> list[str]:
    """How one is started on this port; what it keeps goes into the folder."""
    place = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    return [find_program("redis-server"), *place, "--save", "", *options]


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def _start(folder: Path) -> str:
    port = free_port()
    supervised(folder, command(port, folder), lambda: answers(port))
    return f"redis://127.0.0.1:{port}"
