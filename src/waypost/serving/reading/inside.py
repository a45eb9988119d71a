"""The condition of lying in a box: by the R-tree where few rows can, and by runs of rows, in steps, where many can."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from geoindex_rs.rtree import search

from waypost.serving.reading.boxes import Bounds, cut
from waypost.serving.reading.columns import Columns, Floats
from waypost.serving.reading.grid import Grid, Runs
from waypost.serving.reading.rowsets import NO_ROWS, Mask, Rows

# A box that can hold more rows is wide: its rows are not counted, and are walked in order.
MANY = 200_000
_STEP = 1 << 14


def in_boxes(columns: Columns, boxes: tuple[Bounds, ...]) -> Rows:
    """The rows in disjoint boxes, by the R-tree, ascending."""
    if len(boxes) == 1:
        found = search(columns.tree, *boxes[0]).to_numpy().astype(np.uint32, copy=False)
    else:
        found = np.concatenate([NO_ROWS, *(np.asarray(search(columns.tree, *box)) for box in boxes)])
    found.sort()
    return found


class Inside:
    """A place lies in a box, edges included."""

    def __init__(self, columns: Columns, grid: Grid, box: Bounds) -> None:
        self._columns, self._grid = columns, grid
        self._parts = cut(*box)
        most = grid.most(self._parts[0])
        if len(self._parts) > 1:
            most += grid.most(self._parts[1])
        if most > MANY:
            # The coarse cells may be much larger than the box.
            most = int((self.runs[:, 1] - self.runs[:, 0]).sum())
        self.most = most

    @cached_property
    def runs(self) -> Runs:
        return self._grid.runs(self._parts)

    def rows(self) -> Rows:
        if not self.most:
            return NO_ROWS
        if self.most > MANY:
            return np.concatenate([NO_ROWS, *(rows for rows, _, _ in self.walk(0))])
        return in_boxes(self._columns, self._parts)

    def keep(self, rows: Rows) -> Rows:
        columns = self._columns
        return rows[self._holds(columns.lon[rows], columns.lat[rows])]

    def walk(self, start: int) -> Iterator[tuple[Rows, int, int]]:
        """Yields the box's rows from a row on, in steps, each with how many rows it looked at and where it ended."""
        columns = self._columns
        for first, end in self.runs.tolist():
            for at in range(max(first, start), end, _STEP):
                after = min(at + _STEP, end)
                held = self._holds(columns.lon[at:after], columns.lat[at:after])
                yield (held.nonzero()[0] + at).astype(np.uint32), after - at, after

    def _holds(self, lon: Floats, lat: Floats) -> Mask:
        held: Mask = np.zeros(len(lon), dtype=np.bool_)
        for west, south, east, north in self._parts:
            held |= (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
        return held
