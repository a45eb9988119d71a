"""Hosts and ports in a URL that names several servers."""

import re
from urllib.parse import unquote

_MOST_PORTS = 65535


def split_host(text: str) -> tuple[str, str]:
    """The host and the port of `host:port` or `[host]:port`; each is empty if it is not there."""
    found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::([^:]*))?", text)
    if found is None:
        raise ValueError("not a host with a port")
    return unquote(found[1] or found[2] or ""), unquote(found[3] or "")


def read_port(text: str) -> int:
    port = int(text)
    if not 0 < port <= _MOST_PORTS:
        raise ValueError("not a port")
    return port


def show_host(name: str, port: int) -> str:
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
