"""Laying out rows: from places in any order to the bytes of each section."""

import uuid
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
from geoindex_rs.rtree import RTreeBuilder
from numpy.typing import NDArray

from waypost.serving import format as layout
from waypost.serving.format import UnusablePlace
from waypost.serving.hilbert import distances

Floats = NDArray[np.float64]
_FEATURES_A_WRITE = 4096


class Rows(msgspec.Struct, frozen=True, eq=False):
    """Places as columns, in the order in which they came; each feature has its trailing comma."""

    features: Sequence[bytes]
    ids: bytes | bytearray
    lon: Floats
    lat: Floats


class Laid(msgspec.Struct, frozen=True, eq=False):
    """A section that is ready to be written; its size is known before its bytes are made."""

    name: str
    size: int
    pieces: Iterable[bytes]


def lay_out(rows: Rows) -> tuple[Laid, ...]:
    upper, lower = np.frombuffer(rows.ids, dtype=">u8").astype("<u8").reshape(-1, 2).T
    _refuse_duplicates(upper, lower)
    order = np.lexsort((lower, upper, distances(rows.lon, rows.lat)))
    offsets = _offsets(rows.features, order)
    ids = _ids(upper[order], lower[order])
    boxes = _boxes(rows.lon[order], rows.lat[order])
    return (
        Laid(layout.FEATURES, int(offsets[-1]), _features(rows.features, order)),
        Laid(layout.OFFSETS, offsets.nbytes, [offsets.tobytes()]),
        Laid(layout.IDS, len(ids), [ids]),
        Laid(layout.BOXES, len(boxes), [boxes]),
    )


def _refuse_duplicates(upper: NDArray[np.uint64], lower: NDArray[np.uint64]) -> None:
    order = np.lexsort((lower, upper))
    upper, lower = upper[order], lower[order]
    twice = np.flatnonzero((upper[1:] == upper[:-1]) & (lower[1:] == lower[:-1]))
    if len(twice):
        place_id = uuid.UUID(int=int(upper[twice[0]]) << 64 | int(lower[twice[0]]))
        raise UnusablePlace(f"two places have the id {place_id}")


def _offsets(features: Sequence[bytes], order: NDArray[np.intp]) -> NDArray[np.uint64]:
    sizes = np.fromiter(map(len, features), dtype=np.uint64, count=len(features))
    offsets = np.zeros(len(features) + 1, dtype="<u8")
    np.cumsum(sizes[order], out=offsets[1:])
    return offsets


def _features(features: Sequence[bytes], order: NDArray[np.intp]) -> Iterator[bytes]:
    for start in range(0, len(order), _FEATURES_A_WRITE):
        yield b"".join([features[at] for at in order[start : start + _FEATURES_A_WRITE].tolist()])


def _ids(upper: NDArray[np.uint64], lower: NDArray[np.uint64]) -> bytes:
    rows = np.lexsort((lower, upper))
    return b"".join((upper[rows].tobytes(), lower[rows].tobytes(), rows.astype("<u4").tobytes()))


def _boxes(lon: Floats, lat: Floats) -> bytes:
    """Empty without rows: an index of nothing is nothing to map."""
    if not len(lon):
        return b""
    builder = RTreeBuilder(len(lon))
    builder.add(lon, lat, lon, lat)
    return bytes(builder.finish())
