"""Runs: parts of the places, each sorted as rows will be and kept in a file until all of them are merged.

A run is one file that only its own build reads, on the machine that wrote it; its `Run` says what is where in it.
"""

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from waypost.kernel.folding import words
from waypost.places.place import Place, place_id_bytes, to_feature
from waypost.serving.building.lists_writing import FieldValues, Listed, starts
from waypost.serving.format import (
    LISTS,
    LONGEST_WORD,
    MOST_WORDS,
    NEVER,
    ListsLayout,
    UnusablePlace,
    aligned,
    microseconds,
)
from waypost.serving.hilbert import keys
from waypost.serving.reading.boxes import on_earth

_UNKNOWN = float("nan")
# Bytes that a row takes in the columns below, besides its feature and its fields.
_ROW = 4 + 16 + 4 * 8
_FEATURES_A_WRITE = 4096
# Sorting and writing a run takes about as much memory again as its rows.
_SORTING = 2
# A row's columns, in the order of the file. `starts` has one more entry: where the last feature ends.
_COLUMNS = {"starts": "<u8", "keys": "<u8", "ids": "V16", "lon": "<f8", "lat": "<f8", "power": "<f4", "updated": "<i8"}


class Rows:
    """Collects places as columns; each feature has its trailing comma."""

    def __init__(self) -> None:
        self.features = bytearray()
        self.sizes = array("I")
        self.ids = bytearray()
        self.lon, self.lat = array("d"), array("d")
        self.power, self.updated = array("d"), array("q")
        self.fields = {name: FieldValues() for name in LISTS}

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def held(self) -> int:
        """About how many bytes of memory the rows take."""
        return len(self.features) + _ROW * len(self) + sum(field.held for field in self.fields.values())

    def add(self, place: Place) -> None:
        if not on_earth(place.lon, place.lat):
            raise UnusablePlace(f"{place.external_id} is at {place.lon}, {place.lat}, which is not on Earth")
        row, place_id = len(self.sizes), place_id_bytes(place.external_id)
        feature = to_feature(place, place_id)
        self.features += feature
        self.features += b","
        self.sizes.append(len(feature) + 1)
        self.ids += place_id
        self.lon.append(place.lon)
        self.lat.append(place.lat)
        power, moment = place.attributes.power_kw, place.provider_updated_at
        self.power.append(_UNKNOWN if power is None else power)
        self.updated.append(NEVER if moment is None else microseconds(moment))
        self._find_by(row, place)

    def _find_by(self, row: int, place: Place) -> None:
        fields = self.fields
        if place.country is not None:
            fields["country"].add(row, place.country)
        if place.operator is not None:
            fields["operator"].add(row, place.operator)
        fields["status"].add(row, place.status)
        fields["source"].add(row, place.source)
        fields["category"].add(row, *place.categories)
        fields["words"].add(row, *words_of(place))


def words_of(place: Place) -> list[str]:
    """The words of a place's name and town."""
    town = place.address.town
    found = words(f"{place.name} {town}" if town else place.name)
    return [word[:LONGEST_WORD] for word in found[:MOST_WORDS]]


class Stretch(msgspec.Struct, frozen=True):
    """A file of lists inside a run: where it begins, and what it holds."""

    at: int
    where: ListsLayout


class Run(msgspec.Struct, frozen=True):
    path: str
    count: int
    feature_bytes: int
    size: int
    sources: tuple[str, ...]
    columns: dict[str, int]
    lists: dict[str, Stretch]

    @property
    def rows_path(self) -> str:
        """The file with the new numbers of its rows once it is merged: u32[count]."""
        return f"{self.path}.rows"


class RunWriter:
    """Takes places, and writes them to runs of bounded size in a workplace."""

    def __init__(self, place: Path, name: str, memory: int) -> None:
        self._place = place
        self._name = name
        self._bound = memory // _SORTING
        self._rows = Rows()
        self.runs: list[Run] = []

    @property
    def held(self) -> int:
        """The bytes of rows that are in no run yet."""
        return self._rows.held

    def add(self, places: Iterable[Place]) -> None:
        for place in places:
            self._rows.add(place)
        if self._rows.held > self._bound:
            self.flush()

    def flush(self) -> None:
        if len(self._rows):
            self.runs.append(write_run(self._rows, self._place / f"{self._name}-{len(self.runs)}.run"))
            self._rows = Rows()


def write_run(rows: Rows, path: Path) -> Run:
    lon, lat = np.frombuffer(rows.lon), np.frombuffer(rows.lat)
    key = keys(lon, lat)
    upper, lower = halves(rows.ids)
    order = np.lexsort((lower, upper, key))
    place_of = np.empty(len(order), dtype=np.uint32)
    place_of[order] = np.arange(len(order), dtype=np.uint32)
    sizes = np.frombuffer(rows.sizes, dtype=np.uint32)
    with np.errstate(over="ignore"):
        power = np.frombuffer(rows.power)[order].astype("<f4")
    columns: tuple[NDArray[Any], ...] = (
        starts(sizes[order].astype(np.uint64)),
        key[order],
        np.frombuffer(rows.ids, dtype="V16")[order],
        lon[order],
        lat[order],
        power,
        np.frombuffer(rows.updated, dtype=np.int64)[order],
    )
    with path.open("wb") as file:
        _write(file, _features(rows, order))
        at = {name: _write(file, [column.tobytes()]) for name, column in zip(_COLUMNS, columns, strict=True)}
        lists = {name: _write_lists(file, rows.fields[name].listed(place_of)) for name in LISTS}
        sources = rows.fields["source"].values
        return Run(str(path), len(rows), len(rows.features), file.tell(), tuple(sources), at, lists)


def column(file: IO[bytes], run: Run, name: str, first: int, last: int) -> NDArray[Any]:
    """The values of a column for some rows of an open run."""
    kind = np.dtype(_COLUMNS[name])
    file.seek(run.columns[name] + kind.itemsize * first)
    return np.frombuffer(file.read(kind.itemsize * (last - first)), dtype=kind)


def halves(ids: bytes | bytearray) -> NDArray[np.uint64]:
    """The upper and lower halves of ids, as numbers."""
    return np.frombuffer(ids, dtype=">u8").astype("<u8").reshape(-1, 2).T


def _write(file: IO[bytes], pieces: Iterable[bytes]) -> int:
    """Writes the pieces with padding; returns where they begin."""
    at = file.tell()
    for piece in pieces:
        file.write(piece)
    file.write(bytes(aligned(file.tell()) - file.tell()))
    return at


def _write_lists(file: IO[bytes], found: Listed) -> Stretch:
    return Stretch(_write(file, found.pieces()), found.layout)


def _features(rows: Rows, order: NDArray[np.intp]) -> Iterator[bytes]:
    begins = starts(np.frombuffer(rows.sizes, dtype=np.uint32).astype(np.uint64))
    return gathered(rows.features, begins[:-1][order], begins[1:][order])


def gathered(features: bytes | bytearray, begins: NDArray[np.uint64], ends: NDArray[np.uint64]) -> Iterator[bytes]:
    """Yields these features one after the other, in pieces."""
    with memoryview(features) as view:
        for at in range(0, len(begins), _FEATURES_A_WRITE):
            step = slice(at, at + _FEATURES_A_WRITE)
            yield b"".join([view[b:e] for b, e in zip(begins[step].tolist(), ends[step].tolist(), strict=True)])
