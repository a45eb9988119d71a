"""Writes Mapbox Vector Tiles, version 2.1, with points only: the few messages of its protobuf schema, by hand.

Tile     3: layers
Layer   15: version, 1: name, 2: features, 3: keys, 4: values, 5: extent
Feature  2: tags (pairs of a key's and a value's number), 3: type, 4: geometry
Value    1: string, 3: double, 5: unsigned
"""

import struct
from collections.abc import Iterable

EXTENT = 4096

Value = str | float | int

_VERSION = b"\x78\x02"
# Type and geometry of a point: "move to, once", before its two steps.
_POINT, _MOVE_TO = b"\x18\x01\x22", b"\x09"
_CONTINUES = 0x80


def _written(number: int) -> bytes:
    digits = bytearray()
    while number >= _CONTINUES:
        digits.append(number & 0x7F | _CONTINUES)
        number >>= 7
    digits.append(number)
    return bytes(digits)


# Nearly all numbers in a tile are small. So are the steps to a point, which are never negative: their zigzag form is
# their double.
_SMALL = [_written(number) for number in range(2 * EXTENT)]


def _varint(number: int) -> bytes:
    return _SMALL[number] if number < 2 * EXTENT else _written(number)


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


class Layer:
    """A layer being written; each property value is written once and then referred to."""

    def __init__(self, name: str, keys: Iterable[str]) -> None:
        self._name = name
        self._keys = {key: _varint(number) for number, key in enumerate(keys)}
        self._values: dict[tuple[type, Value], bytes] = {}
        self._features: list[bytes] = []

    def add(self, x: int, y: int, properties: Iterable[tuple[str, Value | None]]) -> None:
        """Adds a point, in steps from the tile's upper left corner; a property that is None is left out."""
        keys, values = self._keys, self._values
        tags: list[bytes] = []
        for key, value in properties:
            if value is None:
                continue
            kind = type(value), value
            number = values.get(kind)
            if number is None:
                number = values[kind] = _varint(len(values))
            tags += keys[key], number
        told, at = b"".join(tags), _MOVE_TO + _SMALL[2 * x] + _SMALL[2 * y]
        point = b"".join((b"\x12", _SMALL[len(told)], told, _POINT, _SMALL[len(at)], at))
        self._features.append(b"\x12" + _SMALL[len(point)] + point)

    def tile(self) -> bytes:
        """A tile with only this layer; empty bytes when the layer has no points."""
        if not self._features:
            return b""
        parts = (
            _VERSION,
            _field(b"\x0a", self._name.encode()),
            *self._features,
            *(_field(b"\x1a", key.encode()) for key in self._keys),
            *(_field(b"\x22", _encoded(value)) for _, value in self._values),
            b"\x28" + _varint(EXTENT),
        )
        return _field(b"\x1a", b"".join(parts))


def _encoded(value: Value) -> bytes:
    match value:
        case str():
            return _field(b"\x0a", value.encode("utf-8", "replace"))
        case int():
            return b"\x28" + _varint(value)
        case float():
            return b"\x19" + struct.pack("<d", value)
