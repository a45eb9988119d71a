"""A private Redis."""

import socket
from pathlib import Path

from support.servers.sharing import find_program, free_port, shared, supervised


def address() -> str:
    """Where the run's Redis is, as redis://127.0.0.1:PORT, without a database."""
    return shared("redis", _start)


def _start(folder: Path) -> str:
    port = free_port()
    command = [
        find_program("redis-server"),
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(folder),
    ]

    def is_up() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    supervised(folder, command, is_up)
    return f"redis://127.0.0.1:{port}"
