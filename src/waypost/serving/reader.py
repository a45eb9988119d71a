"""Answering from a generation: its files are mapped read-only, and no place is decoded on the way out."""

import mmap
import uuid
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec
import numpy as np
from geoindex_rs.rtree import RTreeMetadata, search
from numpy.typing import NDArray
from xxhash import xxh3_64_hexdigest

from waypost.serving import format as layout
from waypost.serving.boxes import check_box, cut
from waypost.serving.format import Manifest, SnapshotBroken

Mapped = mmap.mmap | bytes
_LOWER_HALF = 2**64 - 1


class Box(msgspec.Struct, frozen=True, eq=False):
    """What lies in a box: how many places there are, and the rows of this answer, ascending.

    `next_row` is where the next answer starts when this one stopped at its limit.
    """

    matched: int
    rows: NDArray[np.uint32]
    next_row: int | None
    features: memoryview
    offsets: memoryview

    def chunks(self) -> list[memoryview]:
        """The rows' features with commas between them; neighbouring rows are one slice."""
        rows = self.rows
        if not len(rows):
            return []
        gaps = (rows[1:] - rows[:-1] != 1).nonzero()[0]
        firsts = (int(rows[0]), *rows[gaps + 1].tolist())
        lasts = (*rows[gaps].tolist(), int(rows[-1]))
        at = self.offsets
        slices = [self.features[at[first] : at[last + 1]] for first, last in zip(firsts, lasts, strict=True)]
        slices[-1] = slices[-1][:-1]
        return slices

    def join(self) -> bytes:
        return b"".join(self.chunks())


def feature_collection(box: Box, attribution: Sequence[str] = ()) -> bytes:
    """The answer to a box as GeoJSON, with the counts that OGC API Features asks for, and whom to name beside it."""
    opening = b'{"type":"FeatureCollection","numberMatched":%d,"numberReturned":%d,"attribution":%b,"features":['
    counts = (box.matched, len(box.rows), msgspec.json.encode(attribution))
    return b"".join((opening % counts, *box.chunks(), b"]}"))


class Generation:
    """One open generation. What it hands out stays valid after `close`, which only lets go of the mappings."""

    def __init__(self, path: Path, manifest: Manifest, files: dict[str, Mapped]) -> None:
        self.path = path
        self.name = path.name
        self.manifest = manifest
        self.count = manifest.count
        self._features = memoryview(files[layout.FEATURES])
        self._offsets = memoryview(files[layout.OFFSETS]).cast("Q")
        self._tree = memoryview(files[layout.BOXES])
        ids, half = memoryview(files[layout.IDS]), 8 * self.count
        self._upper = ids[:half].cast("Q")
        self._lower = ids[half : 2 * half].cast("Q")
        self._rows = ids[2 * half :].cast("I")

    @classmethod
    def open(cls, path: Path) -> Self:
        manifest = layout.read_manifest(path)
        files = {name: _map(path / name, manifest.section(name)) for name in layout.SECTIONS}
        _check_sizes(path, manifest)
        return cls(path, manifest, files)

    def get(self, place_id: uuid.UUID) -> memoryview | None:
        """The place's GeoJSON Feature."""
        upper, lower = place_id.int >> 64, place_id.int & _LOWER_HALF
        at = bisect_left(self._upper, upper)
        while at < self.count and self._upper[at] == upper:
            if self._lower[at] == lower:
                row = self._rows[at]
                return self._features[self._offsets[row] : self._offsets[row + 1] - 1]
            at += 1
        return None

    def box(self, west: float, south: float, east: float, north: float, limit: int, offset_row: int = 0) -> Box:
        """The places in a box, edges included; one whose west is greater than its east crosses the antimeridian.

        `matched` counts the whole box, also when the answer starts at a later row.
        """
        check_box(west, south, east, north)
        found = self._search(west, south, east, north)
        first = int(np.searchsorted(found, offset_row)) if offset_row else 0
        last = first + max(0, limit)
        next_row = int(found[last]) if last < len(found) else None
        return Box(len(found), found[first:last], next_row, self._features, self._offsets)

    def _search(self, west: float, south: float, east: float, north: float) -> NDArray[np.uint32]:
        if not self.count:
            return np.empty(0, dtype=np.uint32)
        parts = [np.asarray(search(self._tree, *part)) for part in cut(west, south, east, north)]
        return np.sort(np.concatenate(parts) if len(parts) > 1 else parts[0])

    def warm(self) -> None:
        """Runs each query once, so that no visitor pays for page faults and first calls."""
        self.get(uuid.UUID(int=0))
        feature_collection(self.box(-180, -90, 180, 90, limit=1))
        feature_collection(self.box(180, -90, -180, 90, limit=1))

    def close(self) -> None:
        """Lets go of the mappings; each goes away with the last answer that still points into it.

        Unmapping by force would pull the memory from under an answer that is being sent.
        """
        self._features = self._offsets = self._upper = self._lower = self._rows = self._tree = _released()


def _released() -> memoryview:
    """A view that refuses every use, so that asking a closed generation fails instead of finding nothing."""
    view = memoryview(b"")
    view.release()
    return view


def _map(path: Path, section: layout.Section | None) -> Mapped:
    if section is None:
        raise SnapshotBroken(path, "is not in the manifest")
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size != section.size:
                raise SnapshotBroken(path, f"has {size:,} bytes, and the manifest says {section.size:,}")
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise SnapshotBroken(path, "is missing") from None
    except OSError as error:
        raise SnapshotBroken(path, f"cannot be read: {error.strerror}") from error
    if xxh3_64_hexdigest(mapped) != section.xxh3:
        raise SnapshotBroken(path, "is damaged: its checksum is not the one in the manifest")
    return mapped


def _check_sizes(path: Path, manifest: Manifest) -> None:
    """Sections that do not fit the count would be read past their end, and the R-tree would panic."""
    count = manifest.count
    # A damaged count is noticed by the plain sections, before the R-tree computes with it.
    for name, size in ((layout.OFFSETS, (count + 1) * layout.OFFSET_BYTES), (layout.IDS, count * layout.ID_BYTES)):
        _check_size(path / name, manifest.section(name), size, count)
    tree = RTreeMetadata(count).num_bytes if count else 0
    _check_size(path / layout.BOXES, manifest.section(layout.BOXES), tree, count)


def _check_size(path: Path, section: layout.Section | None, size: int, count: int) -> None:
    if section is None or section.size != size:
        raise SnapshotBroken(path, f"is not of the size that {count:,} places take")
