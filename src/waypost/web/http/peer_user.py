"""Whose process is at the other end of a connection on this machine, as Linux tells: a proxy is usually not ours."""

import ipaddress
import os
import struct
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
# Columns of the tables.
_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7
_IPV4_INSIDE = bytes(10) + b"\xff\xff"

# An address and a port.
End = tuple[str, int]


def is_own_user(client: End, server: End, user: int | None = None) -> bool:
    """Whether the client's end of an open connection belongs to our user, or to `user`.

    True where the system does not tell. A client that has closed its end already belongs to nobody.
    """
    wanted = str(os.geteuid() if user is None else user)
    told = [table for table in _TABLES if table.exists()]
    return not told or any(_owner(table, client, server) == wanted for table in told)


def _owner(table: Path, client: End, server: End) -> str | None:
    is_wide = table.name.endswith("6")
    ends = [_spelt(*client, is_wide=is_wide), _spelt(*server, is_wide=is_wide), _ESTABLISHED]
    for line in table.read_text().splitlines():
        columns = line.split(maxsplit=_USER + 1)
        if [columns[_LOCAL], columns[_REMOTE], columns[_STATE]] == ends:
            return columns[_USER]
    return None


def _spelt(host: str, port: int, *, is_wide: bool) -> str:
    """An end as the tables have it: words in the machine's own order of bytes, in hexadecimal."""
    packed = ipaddress.ip_address(host).packed
    if is_wide and len(packed) == 4:  # noqa: PLR2004 - the bytes of an IPv4 address
        packed = _IPV4_INSIDE + packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"
