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


def sentinel_command(port: int, folder: Path, name: str, master_port: int) -> list[str]:
    """How a sentinel is started that watches over a master; two of them decide together."""
    own = folder / f"sentinel-{port}.conf"
    own.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor {name} 127.0.0.1 {master_port} 2\n"
        f"sentinel down-after-milliseconds {name} 3000\nsentinel failover-timeout {name} 10000\n"
    )
    return [find_program("redis-server"), str(own), "--sentinel"]


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
