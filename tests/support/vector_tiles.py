"""Reading Mapbox Vector Tiles with points alone: enough of protobuf to see what a map would draw."""

import struct
from collections.abc import Iterator
from typing import Any

import msgspec


class Point(msgspec.Struct, frozen=True):
    x: int
    y: int
    properties: dict[str, Any]


class Layer(msgspec.Struct, frozen=True):
    name: str
    version: int
    extent: int
    points: list[Point]


def read_tile(encoded: bytes) -> list[Layer]:
    return [_layer(content) for number, content in _fields(encoded) if number == 3]


def _layer(encoded: bytes) -> Layer:
    fields = list(_fields(encoded))
    [name] = [content.decode() for number, content in fields if number == 1]
    [version] = [content for number, content in fields if number == 15]
    [extent] = [content for number, content in fields if number == 5]
    keys = [content.decode() for number, content in fields if number == 3]
    values = [_value(content) for number, content in fields if number == 4]
    assert len(set(keys)) == len(keys)
    return Layer(name, version, extent, [_point(content, keys, values) for number, content in fields if number == 2])


def _point(encoded: bytes, keys: list[str], values: list[Any]) -> Point:
    fields = dict(_fields(encoded))
    assert fields[3] == 1, "not a point"
    tags = list(_varints(fields[2]))
    command, x, y = _varints(fields[4])
    assert command == 9, "not one step"
    told = {keys[key]: values[value] for key, value in zip(tags[::2], tags[1::2], strict=True)}
    return Point(_unfold(x), _unfold(y), told)


def _value(encoded: bytes) -> Any:
    [(number, content)] = _fields(encoded)
    match number:
        case 1:
            return content.decode()
        case 2 | 3 | 5:
            return content
    raise AssertionError(f"a value of kind {number}")


def _unfold(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _fields(encoded: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(encoded):
        tag, at = _varint(encoded, at)
        match tag & 7:
            case 0:
                content, at = _varint(encoded, at)
                yield tag >> 3, content
            case 1:
                yield tag >> 3, struct.unpack_from("<d", encoded, at)[0]
                at += 8
            case 2:
                size, at = _varint(encoded, at)
                assert at + size <= len(encoded), "cut off"
                yield tag >> 3, encoded[at : at + size]
                at += size
            case kind:
                raise AssertionError(f"wire type {kind}")


def _varints(encoded: bytes) -> Iterator[int]:
    at = 0
    while at < len(encoded):
        number, at = _varint(encoded, at)
        yield number


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        number |= (encoded[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if encoded[at - 1] < 0x80:
            return number, at
