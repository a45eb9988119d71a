"""Answers from a generation: its files are mapped read-only, and no place is decoded on the way out."""

import uuid
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from waypost.serving import format as layout
from waypost.serving.format import Manifest, SnapshotBroken
from waypost.serving.reading.columns import Columns, open_columns
from waypost.serving.reading.counting import count_values
from waypost.serving.reading.lists import Lists, open_lists
from waypost.serving.reading.mapped import map_file
from waypost.serving.reading.query import FIELDS, BadQuery, Query
from waypost.serving.reading.selected import Selected, feature_collection
from waypost.serving.reading.selecting import Selecting
from waypost.serving.reading.tiles import Tiles

__all__ = ["Generation", "feature_collection"]


Part = TypeVar("Part")


class Generation:
    """One open generation. What it hands out stays valid after `close`, which only releases the mappings."""

    def __init__(self, path: Path, manifest: Manifest, columns: Columns, lists: dict[str, Lists]) -> None:
        self.path = path
        self.name = path.name
        self.manifest = manifest
        self.count = manifest.count
        self._lists = lists
        self._selecting: Selecting | None = Selecting(columns, lists)
        self._tiles: Tiles | None = Tiles(columns)
        # Kept here for `find`: going through `columns` each time would cost it a tenth of its time.
        self._features, self._offsets = columns.features, columns.offsets
        self._slots, self._ids = columns.slots, columns.ids
        self._homes = max(0, layout.slots_for(self.count) - 1)

    @classmethod
    def open(cls, path: Path) -> Self:
        manifest = layout.read_manifest(path)
        files = {name: map_file(path / name, manifest.section(name)) for name in layout.SECTIONS}
        columns = open_columns(path, manifest.count, files)
        lists = {
            field: open_lists(path / name, files[name], count=manifest.count, values=manifest.values.get(field))
            for field, name in layout.LISTS.items()
        }
        if not _is_true(manifest, lists["source"]):
            raise SnapshotBroken(path / layout.MANIFEST, "is damaged: its name and its files say otherwise")
        return cls(path, manifest, columns, lists)

    def get(self, place_id: uuid.UUID) -> memoryview | None:
        """The place's GeoJSON Feature."""
        return self.find(place_id.bytes)

    def find(self, wanted: bytes) -> memoryview | None:
        """The GeoJSON Feature of the place whose id is these 16 bytes."""
        slots, ids = self._slots, self._ids
        at = int.from_bytes(wanted, "big") & self._homes
        while row := slots[at]:
            end = row * 16
            if ids[end - 16 : end] == wanted:
                offsets = self._offsets
                return self._features[offsets[row - 1] : offsets[row] - 1]
            at += 1
        return None

    def feature(self, row: int) -> memoryview:
        """The GeoJSON Feature in a row."""
        return self._features[self._offsets[row] : self._offsets[row + 1] - 1]

    def row_id(self, row: int) -> uuid.UUID:
        """The id of the place in a row."""
        return uuid.UUID(bytes=self._ids[row * 16 : row * 16 + 16])

    def select(self, query: Query, limit: int, start: int = 0) -> Selected:
        """The places that match a query, from row `start` on, or from that rank on when it asks for the nearest."""
        return self._open(self._selecting).select(query, limit, start)

    def counts(self, field: str, query: Query, limit: int | None = None) -> list[tuple[str, int]]:
        """How many of the places that match a query have each value of a field, most first, then by value."""
        if field not in FIELDS:
            raise BadQuery(f"places are counted by {', '.join(FIELDS)}, and not by {field[:80]!r}", parameter="by")
        rows = self._open(self._selecting).rows(query)
        return count_values(self._lists[field], rows, self.count, limit)

    def tile(self, z: int, x: int, y: int) -> bytes:
        """The places of a map tile as a Mapbox Vector Tile; empty where there are none."""
        try:
            return self._open(self._tiles).tile(z, x, y)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SnapshotBroken(self.path / layout.FEATURES, f"is damaged: {error}") from error

    def warm(self) -> None:
        """Runs each query once, so that no visitor pays for page faults and first calls."""
        self.get(uuid.UUID(int=0))
        for query in (
            Query(),
            Query(box=(180, -90, -180, 90)),
            Query(box=(-10, -10, 10, 10)),
            Query(near=(0, 0)),
            Query(near=(0, 0), radius=1000),
            Query(text="a"),
            Query(status=("operational",), power_from=50),
        ):
            feature_collection(self.select(query, limit=1))
        self.counts("status", Query())
        self.tile(0, 0, 0)

    def close(self) -> None:
        """Releases the mappings; each goes away with the last answer that still points into it.

        Unmapping by force would pull the memory from under an answer that is being sent.
        """
        self._features = self._offsets = self._slots = _released()
        self._ids, self._lists = b"", {}
        self._selecting = self._tiles = None

    def _open(self, part: Part | None) -> Part:
        if part is None:
            raise ValueError(f"{self.name} was closed, and its map released")
        return part


def _is_true(manifest: Manifest, sources: Lists) -> bool:
    """Whether the rest of a manifest, which has no checksum of its own, agrees with its name and its files."""
    try:
        name = layout.generation_name(manifest.created_at, manifest.sections, manifest.attribution)
    except OverflowError:
        return False
    named = [source.encode("utf-8", "surrogatepass") for source in manifest.sources]
    return name == manifest.generation and named == [sources.text(number) for number in sources.numbers]


def _released() -> memoryview:
    """A view that refuses every use, so that asking a closed generation fails instead of finding nothing."""
    view = memoryview(b"")
    view.release()
    return view
