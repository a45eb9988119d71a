"""Whose process is at the other end of a connection on this machine, as Linux tells: a proxy is usually not ours.

The kernel is asked for this one connection. Its tables below /proc have all of them, thousands on a busy machine, and a
reader may miss one while others come and go; they are for kernels that cannot be asked.
"""

import ipaddress
import os
import socket
import struct
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = 1
# Columns of the tables.
_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7
_IPV4_INSIDE = bytes(10) + b"\xff\xff"

# <linux/netlink.h>, <linux/sock_diag.h> and <linux/inet_diag.h>: a header, and a question or an answer about one end,
# which is named by ports and addresses.
_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_HEADER = struct.Struct("=IHHII")
_QUESTION, _ENDS = struct.Struct("=BBBBI"), struct.Struct("!HH16s16s")
_ANY_DEVICE, _ANY_COOKIE = bytes(4), b"\xff" * 8
_ANSWER = struct.Struct(f"=BBBB{_ENDS.size}s12xIIII")
_PATIENCE_SECONDS = 1.0

# An address and a port.
End = tuple[str, int]


def is_own_user(client: End, server: End, user: int | None = None) -> bool:
    """Whether the client's end of an open connection belongs to our user, or to `user`.

    True where the system does not tell. A client that has closed its end already belongs to nobody.
    """
    wanted = os.geteuid() if user is None else user
    owner = _ask_kernel(client, server)
    if owner is None and _ask_kernel(server, client) is None:
        # It does not even know our own end.
        told = [table for table in _TABLES if table.exists()]
        return not told or any(_read_table(table, client, server) == wanted for table in told)
    return owner == wanted


def _ask_kernel(local: End, remote: End) -> int | None:
    """The user that the local end belongs to; None if there is no such open connection, or no answer."""
    addresses = [_plain(host) for host, _ in (local, remote)]
    family = socket.AF_INET6 if addresses[0].version == 6 else socket.AF_INET  # noqa: PLR2004 - IPv6
    ends = _ENDS.pack(local[1], remote[1], *(address.packed for address in addresses))
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _ESTABLISHED) + ends + _ANY_DEVICE + _ANY_COOKIE
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
            kernel.settimeout(_PATIENCE_SECONDS)
            kernel.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, 0, 0) + question)
            answer = kernel.recv(4096)
    except (OSError, AttributeError):
        return None
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind != _BY_FAMILY:
        return None
    _, state, _, _, found, _, _, _, user = _ANSWER.unpack_from(answer, _HEADER.size)
    return int(user) if state == _ESTABLISHED and found[:4] == ends[:4] else None


def _read_table(table: Path, client: End, server: End) -> int | None:
    is_wide = table.name.endswith("6")
    ends = [_spelt(*client, is_wide=is_wide), _spelt(*server, is_wide=is_wide), f"{_ESTABLISHED:02X}"]
    for line in table.read_text().splitlines():
        columns = line.split(maxsplit=_USER + 1)
        if [columns[_LOCAL], columns[_REMOTE], columns[_STATE]] == ends:
            return int(columns[_USER])
    return None


def _plain(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host)
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _spelt(host: str, port: int, *, is_wide: bool) -> str:
    """An end as the tables have it: words in the machine's own order of bytes, in hexadecimal."""
    packed = ipaddress.ip_address(host).packed
    if is_wide and len(packed) == 4:  # noqa: PLR2004 - the bytes of an IPv4 address
        packed = _IPV4_INSIDE + packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return f"{''.join(f'{word:08X}' for word in words)}:{port:04X}"
