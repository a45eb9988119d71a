"""Map tiles of places. A tile is one run of rows, because rows follow a curve over the map that fills tile after tile.

A tile with few places shows each of them. One with more shows clusters, in a grid of 16 by 16 cells, each a run of rows
too: a cluster stands at the mean position of its places or, if it has more than 8, of 8 spread evenly over its run.
Places north or south of the map's edge are on no tile.
"""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from waypost.kernel.errors import AskedWrongly
from waypost.serving.hilbert import EDGE, ORDER
from waypost.serving.reading.columns import Columns
from waypost.serving.reading.mvt import EXTENT, Layer
from waypost.serving.reading.recent import Recent

LAYER = "places"
DEEPEST = ORDER
# A tile with more places is clustered.
MOST_SINGLE = 500
_GRID = 4
_SAMPLE = 8
_RECENT_BYTES = 4 * 2**20
_KEYS = ("id", "name", "status", "power_kw", "country", "operator", "point_count")

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


class BadTile(AskedWrongly):
    """There is no such tile."""

    def __init__(self, parameter: str, value: int, most: int) -> None:
        super().__init__(f"{parameter} goes from 0 to {most:,}, and this is {value:,}", parameter=parameter)


class _Attributes(msgspec.Struct):
    # A source's own fields stand beside ours, and may have our names.
    power_kw: float | str | bool | None = None


class _Properties(msgspec.Struct):
    name: str
    status: str
    country: str | None
    operator: str | None
    attributes: _Attributes


class _Feature(msgspec.Struct):
    id: str
    properties: _Properties


_decode = msgspec.json.Decoder(_Feature).decode


class Tiles:
    """The tiles of one generation; recently drawn ones are remembered."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._recent: Recent[bytes] = Recent(_RECENT_BYTES)

    def tile(self, z: int, x: int, y: int) -> bytes:
        """A Mapbox Vector Tile; empty where there are no places."""
        check_tile(z, x, y)
        drawn = self._recent.get((z, x, y))
        if drawn is None:
            drawn = self._drawn(z, x, y)
            self._recent.put((z, x, y), drawn, len(drawn))
        return drawn

    def _drawn(self, z: int, x: int, y: int) -> bytes:
        shift = 2 * (DEEPEST - z)
        first, keys = tile_number(z, x, y) << shift, self._columns.keys
        start, end = keys.searchsorted(np.array([first, first + (1 << shift)], dtype=np.uint64)).tolist()
        # Cells at the edge of the map also hold what lies beyond it.
        shown = _Shown(self._columns.lat, start, end, at_edge=y in {0, (1 << z) - 1})
        drawing = _Drawing(self._columns, z, x, y)
        if shown.count <= MOST_SINGLE:
            drawing.places(shown.rows(np.arange(shown.count)))
        else:
            finer = min(_GRID, DEEPEST - z)
            cells = np.arange((1 << 2 * finer) + 1, dtype=np.uint64) << np.uint64(shift - 2 * finer)
            drawing.cells(shown, start + keys[start:end].searchsorted(np.uint64(first) + cells))
        return drawing.layer.tile()


class _Shown:
    """The rows of a run that are on the map, nearly always all of them, numbered from 0."""

    def __init__(self, lat: Floats, start: int, end: int, *, at_edge: bool) -> None:
        self._start = start
        self._some: Numbers | None = None
        self.count = end - start
        run = lat[start:end]
        if at_edge and self.count and max(run.max(), -run.min()) > EDGE:
            self._some = np.flatnonzero(np.abs(run) <= EDGE)
            self.count = len(self._some)

    def rows(self, numbers: Numbers) -> Numbers:
        return self._start + (numbers if self._some is None else self._some[numbers])

    def numbers(self, rows: Numbers) -> Numbers:
        """How many are shown before each of these rows."""
        return rows - self._start if self._some is None else self._some.searchsorted(rows - self._start)


class _Drawing:
    """One tile being drawn."""

    def __init__(self, columns: Columns, z: int, x: int, y: int) -> None:
        self._columns = columns
        self._scale, self._left, self._top = 1 << z, x, y
        self.layer = Layer(LAYER, _KEYS)

    def places(self, rows: Numbers) -> None:
        """Draws each place by itself."""
        columns = self._columns
        for row, x, y in zip(rows.tolist(), *_whole(*self._steps(rows)), strict=True):
            feature = _decode(columns.features[columns.offsets[row] : columns.offsets[row + 1] - 1])
            told, power = feature.properties, feature.properties.attributes.power_kw
            self.layer.add(
                x,
                y,
                (
                    ("id", feature.id),
                    ("name", told.name),
                    ("status", told.status),
                    ("power_kw", power if isinstance(power, float) else None),
                    ("country", told.country),
                    ("operator", told.operator),
                ),
            )

    def cells(self, shown: _Shown, edges: Numbers) -> None:
        """Draws clusters; a place alone in its cell is drawn itself. `edges` has each cell's first row, and the last's
        end.
        """
        edges = shown.numbers(edges)
        firsts, counts = edges[:-1], np.diff(edges)
        self.places(shown.rows(firsts[counts == 1]))
        firsts, counts = firsts[counts > 1], counts[counts > 1]
        picked, held = _sample(firsts, counts)
        across, down = self._steps(shown.rows(picked))
        taken = np.minimum(counts, _SAMPLE)
        middle = _whole((across * held).sum(axis=1) / taken, (down * held).sum(axis=1) / taken)
        for count, x, y in zip(counts.tolist(), *middle, strict=True):
            self.layer.add(x, y, (("point_count", count),))

    def _steps(self, rows: Numbers) -> tuple[Floats, Floats]:
        """Positions in the tile, in its own steps from its upper left corner."""
        across = (self._columns.lon[rows] + 180.0) / 360.0
        down = 0.5 - np.arctanh(np.sin(np.radians(self._columns.lat[rows]))) / math.tau
        return (across * self._scale - self._left) * EXTENT, (down * self._scale - self._top) * EXTENT


def _sample(firsts: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """For each cluster the numbers of a few of its places, spread evenly, or of all; and which entries count."""
    each, counts = np.arange(_SAMPLE), counts[:, None]
    spread = np.where(counts <= _SAMPLE, np.minimum(each, counts - 1), each * counts // _SAMPLE)
    return firsts[:, None] + spread, (each < counts).astype(np.intp)


def _whole(across: Floats, down: Floats) -> tuple[list[int], list[int]]:
    """Rounds to whole steps inside the tile: in its last digit a position may round across the border."""
    x, y = (np.clip(steps, 0, EXTENT - 1).astype(np.intp).tolist() for steps in (across, down))
    return x, y


def tile_number(z: int, x: int, y: int) -> int:
    """The tile's position on the curve of its zoom level: `hilbert.numbers` for a single tile."""
    number = 0
    for bit in range(z - 1, -1, -1):
        right, lower = (x >> bit) & 1, (y >> bit) & 1
        number = number << 2 | (3 * right) ^ lower
        if not lower:
            x, y = (~y, ~x) if right else (y, x)
    return number


def check_tile(z: int, x: int, y: int) -> None:
    if not 0 <= z <= DEEPEST:
        raise BadTile("z", z, DEEPEST)
    for name, value in (("x", x), ("y", y)):
        if not 0 <= value < 1 << z:
            raise BadTile(name, value, (1 << z) - 1)
