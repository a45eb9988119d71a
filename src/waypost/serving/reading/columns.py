"""The plain sections of a generation as arrays over their mappings, and the checks they pass before any is used.

A checksum catches damage by chance; these checks catch a generation that was written wrongly. What passes them may
still be wrong, but nothing in it points outside the files.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from geoindex_rs.rtree import RTreeMetadata
from numpy.typing import NDArray

from waypost.serving import format as layout
from waypost.serving.format import SnapshotBroken
from waypost.serving.reading.boxes import EAST, NORTH
from waypost.serving.reading.mapped import Mapped, ascends, lies_between

Floats = NDArray[np.float64]

_OFFSET, _SLOT, _KEY, _POWER, _UPDATED = 8, 4, 8, 4, 8
# Of geoindex-rs' trees: the header's size, its first two bytes (flatbush, version 3, 64-bit floats), children per node,
# bytes per box.
_TREE_HEADER, _TREE_MARK, _TREE_NODE, _TREE_BOX = 8, 0x38FB, 16, 32
_WIDE_NODES = 16384


class Columns(msgspec.Struct, frozen=True, eq=False):
    count: int
    features: memoryview
    offsets: memoryview
    ids: Mapped
    slots: memoryview
    keys: NDArray[np.uint64]
    lon: Floats
    lat: Floats
    tree: memoryview
    power: NDArray[np.float32]
    updated: NDArray[np.int64]


def open_columns(path: Path, count: int, files: dict[str, Mapped]) -> Columns:
    """Opens the columns of `count` places. Raises SnapshotBroken if anything in them points outside them."""
    for name, size in _sizes(count):
        if len(files[name]) != size:
            raise SnapshotBroken(path / name, f"is not of the size that {count:,} places take")
    if len(files[layout.SLOTS]) < (layout.slots_for(count) + 1) * _SLOT * bool(count):
        raise SnapshotBroken(path / layout.SLOTS, f"is not of the size that {count:,} places take")
    points = files[layout.POINTS]
    columns = Columns(
        count=count,
        features=memoryview(files[layout.FEATURES]),
        offsets=memoryview(files[layout.OFFSETS]).cast("Q"),
        ids=files[layout.IDS],
        # Without places there is one empty slot, where every search ends.
        slots=memoryview(files[layout.SLOTS] or bytes(_SLOT)).cast("I"),
        keys=np.frombuffer(files[layout.KEYS], dtype="<u8"),
        lon=np.frombuffer(points, dtype="<f8", count=count),
        lat=np.frombuffer(points, dtype="<f8", count=count, offset=layout.aligned(8 * count)),
        tree=memoryview(files[layout.BOXES]),
        power=np.frombuffer(files[layout.POWER], dtype="<f4"),
        updated=np.frombuffer(files[layout.UPDATED], dtype="<i8"),
    )
    for name, wrong in _wrongs(columns):
        raise SnapshotBroken(path / name, f"is damaged: {wrong}")
    return columns


def _sizes(count: int) -> Iterator[tuple[str, int]]:
    """The expected sizes; the plain sections come first, so that a damaged count never reaches the R-tree."""
    yield layout.OFFSETS, (count + 1) * _OFFSET
    yield layout.IDS, count * layout.ID_BYTES
    yield layout.KEYS, count * _KEY
    yield layout.POINTS, layout.aligned(8 * count) + 8 * count
    yield layout.POWER, count * _POWER
    yield layout.UPDATED, count * _UPDATED
    yield layout.BOXES, RTreeMetadata(count).num_bytes if count else 0


def _wrongs(columns: Columns) -> Iterator[tuple[str, str]]:
    offsets = np.frombuffer(columns.offsets, dtype="<u8")
    if int(offsets[0]) != 0 or int(offsets[-1]) != len(columns.features) or not ascends(offsets, strictly=True):
        yield layout.OFFSETS, "its rows do not follow each other"
    slots = np.frombuffer(columns.slots, dtype="<u4")
    if int(slots[-1]) != 0 or int(slots.max()) > columns.count or np.count_nonzero(slots) != columns.count:
        yield layout.SLOTS, "it does not lead to each row once"
    if not ascends(columns.keys):
        yield layout.KEYS, "its keys do not ascend"
    if not (lies_between(columns.lon, -EAST, EAST) and lies_between(columns.lat, -NORTH, NORTH)):
        yield layout.POINTS, "a point is not on Earth"
    if columns.count and not _is_tree(columns.tree, columns.count):
        yield layout.BOXES, "it is not an R-tree"


def _is_tree(tree: memoryview, count: int) -> bool:
    """Whether every search in it stays inside: geoindex-rs trusts its nodes, and a wrong one would stop the process."""
    mark, node, *items = memoryview(tree)[:_TREE_HEADER].cast("H")
    if (mark, node, items[0] | items[1] << 16) != (_TREE_MARK, _TREE_NODE, count):
        return False
    levels = [count]
    while levels[-1] != 1:
        levels.append(-(-levels[-1] // _TREE_NODE))
    nodes = sum(levels)
    kind = "<u2" if nodes < _WIDE_NODES else "<u4"
    leads = np.frombuffer(tree, dtype=kind, offset=_TREE_HEADER + nodes * _TREE_BOX)
    # A box that is not a number would stop the process too.
    corners = np.frombuffer(tree, dtype="<f8", count=4 * nodes, offset=_TREE_HEADER)
    if int(leads[:count].max()) >= count or not lies_between(corners, -EAST, EAST):
        return False
    at, below = count, 0
    for lower, level in pairwise(levels):
        # Each node points to the first of its children, which lie one after the other, four numbers each.
        expected = 4 * (below + _TREE_NODE * np.arange(level, dtype=np.uint32))
        if not np.array_equal(leads[at : at + level], expected):
            return False
        at, below = at + level, below + lower
    return True
