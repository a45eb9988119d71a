"""Small files in MaxMind's format, written as its specification says (version 2.0)."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

_MAP, _TEXT, _UINT16, _UINT32, _UINT64, _ARRAY = 7, 2, 5, 6, 9, 11
_EXTENDED = 7
_EMPTY_BYTES = 16


def write_networks(path: Path, kind: str, networks: Mapping[str, Mapping[str, Any]]) -> Path:
    """A file that knows some networks of the fourth version."""
    nodes: list[list[int | bytes | None]] = [[None, None]]
    for network, record in networks.items():
        _insert(nodes, IPv4Network(network), _encode(record))
    data = b""
    tree = b""
    for node in nodes:
        for side in node:
            if isinstance(side, bytes):
                number = len(nodes) + _EMPTY_BYTES + len(data)
                data += side
            else:
                number = len(nodes) if side is None else side
            tree += number.to_bytes(3)
    about = {
        "binary_format_major_version": (_UINT16, 2),
        "binary_format_minor_version": (_UINT16, 0),
        "build_epoch": (_UINT64, 1_700_000_000),
        "database_type": kind,
        "description": {"en": "for tests"},
        "ip_version": (_UINT16, 4),
        "languages": ["en"],
        "node_count": (_UINT32, len(nodes)),
        "record_size": (_UINT16, 24),
    }
    path.write_bytes(tree + bytes(_EMPTY_BYTES) + data + b"\xab\xcd\xefMaxMind.com" + _encode(about))
    return path


def _insert(nodes: list[list[int | bytes | None]], network: IPv4Network, record: bytes) -> None:
    at, bits = 0, f"{int(network.network_address):032b}"[: network.prefixlen]
    for bit in bits[:-1]:
        following = nodes[at][int(bit)]
        if following is None:
            nodes.append([None, None])
            following = nodes[at][int(bit)] = len(nodes) - 1
        assert isinstance(following, int)
        at = following
    nodes[at][int(bits[-1])] = record


def _encode(value: Any) -> bytes:
    match value:
        case str():
            return _control(_TEXT, len(value.encode())) + value.encode()
        case dict():
            return _control(_MAP, len(value)) + b"".join(_encode(part) for pair in value.items() for part in pair)
        case list():
            return _control(_ARRAY, len(value)) + b"".join(map(_encode, value))
        case (kind, number):
            written = int(number).to_bytes((number.bit_length() + 7) // 8)
            return _control(kind, len(written)) + written
    raise TypeError(value)


def _control(kind: int, size: int) -> bytes:
    assert size < 29
    return bytes([size, kind - _EXTENDED]) if kind > _EXTENDED else bytes([kind << 5 | size])
