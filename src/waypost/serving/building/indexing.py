"""Indexes over merged rows: by id, and by position."""

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from geoindex_rs.rtree import RTreeBuilder
from numpy.typing import NDArray

from waypost.serving import format as layout
from waypost.serving.format import UnusablePlace


def slots(place: Path) -> Iterator[bytes]:
    """The hash index: ids, taken in order of home slots, each go to their home slot or just after the one before."""
    lower = np.fromfile(place / layout.IDS, dtype=">u8")[1::2].astype(np.uint64)
    _refuse_twice(place, lower)
    count = len(lower)
    if not count:
        return
    home_slots = layout.slots_for(count)
    homes = (lower & np.uint64(home_slots - 1)).astype(np.int64)
    del lower
    rows = np.argsort(homes, kind="stable")
    step = np.arange(count, dtype=np.int64)
    positions = homes[rows]
    positions -= step
    np.maximum.accumulate(positions, out=positions)
    positions += step
    filled = np.zeros(max(home_slots, int(positions[-1]) + 1) + 1, dtype="<u4")
    filled[positions] = rows + 1
    yield filled.tobytes()


def _refuse_twice(place: Path, lower: NDArray[np.uint64]) -> None:
    """Refuses ids that occur twice. Only lower halves are compared at first; where two are equal, the whole ids are."""
    ordered = np.sort(lower)
    doubtful = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(doubtful):
        return
    ids = np.fromfile(place / layout.IDS, dtype="V16")
    seen: dict[bytes, int] = {}
    for row in np.flatnonzero(np.isin(lower, doubtful)).tolist():
        before = seen.setdefault(bytes(ids[row]), row)
        if before != row:
            message = _twice(place, uuid.UUID(bytes=bytes(ids[row])), (before, row))
            raise UnusablePlace(message, next_step="leave one of them out, and build again")


def _twice(place: Path, place_id: uuid.UUID, rows: Sequence[int]) -> str:
    offsets = np.fromfile(place / layout.OFFSETS, dtype="<u8")
    told = []
    with (place / layout.FEATURES).open("rb") as file:
        for row in rows:
            file.seek(int(offsets[row]))
            feature = msgspec.json.decode(file.read(int(offsets[row + 1] - offsets[row]) - 1))
            told.append("{external_id} ({name})".format(**feature["properties"]))
    return f"two places have the id {place_id}: {' and '.join(told)}"


def boxes(place: Path) -> Iterator[bytes]:
    """The R-tree of all points; empty without rows, as there is nothing to map."""
    points = np.fromfile(place / layout.POINTS, dtype="<f8")
    count = (place / layout.KEYS).stat().st_size // 8
    if not count:
        return
    lon, lat = points[:count], points[len(points) - count :]
    builder = RTreeBuilder(count)
    builder.add(lon, lat, lon, lat)
    yield memoryview(builder.finish())  # type: ignore[misc]
