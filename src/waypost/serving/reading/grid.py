"""Where the rows of a box can be: a quick upper bound on their number, and the runs in which they lie."""

import math
from bisect import bisect
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from waypost.serving.hilbert import EDGE, ORDER, numbers
from waypost.serving.reading.boxes import Bounds
from waypost.serving.reading.recent import Recent

# From and to, in cells of the finest grid, inclusive: west, north, east, south.
Window = tuple[int, int, int, int]
# Row of each run's start, and the row after its end.
Runs = NDArray[np.int64]
Cells = NDArray[np.int64]

# 256 by 256 cells up to a million rows, and twice as many a side whenever the number of rows quadruples.
_COARSE, _COARSE_ROWS = 8, 1 << 20
# The sums of more cells would take too much memory.
_MOST_COARSE = 10
# More degrees than a cell of the finest grid has: a row that rounding put into the next cell must be counted.
_SLACK = 1e-4
_LAST = (1 << ORDER) - 1
# A border of more cells is not drawn finer.
_MOST_BORDER = 64
_RECENT_BYTES = 2**20


def window(west: float, south: float, east: float, north: float) -> Window:
    """The cells of a box that does not cross the antimeridian, and one more all around, because cells are rounded."""
    return (
        max(0, _cell((west + 180.0) / 360.0) - 1),
        max(0, _cell(_south(north)) - 1),
        min(_LAST, _cell((east + 180.0) / 360.0) + 1),
        min(_LAST, _cell(_south(south)) + 1),
    )


def _south(lat: float) -> float:
    return 0.5 - math.atanh(math.sin(math.radians(max(-EDGE, min(EDGE, lat))))) / math.tau


def _latitude(south: float) -> float:
    return math.degrees(math.asin(math.tanh((0.5 - south) * math.tau)))


def _cell(part: float) -> int:
    return max(0, min(_LAST, int(part * (1 << ORDER))))


class Grid:
    """How many rows lie in each of 256 by 256 cells or more; kept as cumulative sums, so that a box needs only four."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self._keys = keys
        # A wide box is paged through, and its runs are needed for each page.
        self._recent: Recent[Runs] = Recent(_RECENT_BYTES)
        order = _coarse(len(keys))
        side = self._side = 1 << order
        edges = np.arange(side * side + 1, dtype=np.uint64) << np.uint64(2 * (ORDER - order))
        counts = np.diff(keys.searchsorted(edges))[_on_coarse_curve(order)].reshape(side, side)
        sums = np.zeros((side + 1, side + 1), dtype=np.int64)
        counts.cumsum(0).cumsum(1, out=sums[1:, 1:])
        self._sums = sums.data.cast("B").cast("q")
        self._a_degree = side / 360.0
        # Where the lines between cells lie, from south to north; the poles belong to the last cells.
        self._lines = [_latitude(1 - line / side) for line in range(1, side)]

    def most(self, box: Bounds) -> int:
        """No more rows than this lie in the box, which does not cross the antimeridian."""
        west, south, east, north = box
        side, a_degree, lines, sums = self._side, self._a_degree, self._lines, self._sums
        left = int(max(0.0, (west + 180.0 - _SLACK) * a_degree))
        right = min(side, int((east + 180.0 + _SLACK) * a_degree) + 1)
        above = (side - 1 - bisect(lines, north + _SLACK)) * (side + 1)
        below = (side - bisect(lines, south - _SLACK)) * (side + 1)
        return sums[below + right] - sums[below + left] - sums[above + right] + sums[above + left]

    def runs(self, boxes: tuple[Bounds, ...]) -> Runs:
        """Ascending, separate runs of rows that hold every row of the boxes."""
        runs = self._recent.get(boxes)
        if runs is None:
            found = [_cover(window(*box)) for box in boxes]
            first, end = (np.concatenate(edges) for edges in zip(*found, strict=True))
            runs = _merged(self._keys.searchsorted(first), self._keys.searchsorted(end))
            self._recent.put(boxes, runs, runs.nbytes)
        return runs


def _coarse(count: int) -> int:
    """The grid's order, chosen so that a cell with towns has about as many rows for ten million rows as for one."""
    return min(_MOST_COARSE, _COARSE + max(0, math.ceil(math.log(max(1, count) / _COARSE_ROWS, 4))))


@lru_cache(1)
def _on_coarse_curve(order: int) -> NDArray[np.uint64]:
    """The numbers of the coarse cells on the curve, line by line. Cached, as this takes half as long as opening a
    generation.
    """
    y, x = np.divmod(np.arange(1 << 2 * order, dtype=np.int64), 1 << order)
    return numbers(x, y, order)


def _cover(wanted: Window) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Where on the curve the cells that cover a window begin and end; cells are large inside, smaller at its border."""
    west, north, east, south = wanted
    x, y = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    whole: list[tuple[Cells, Cells, int]] = []
    for shift in range(ORDER, -1, -1):
        left, top = x << shift, y << shift
        right, bottom = left + ((1 << shift) - 1), top + ((1 << shift) - 1)
        touched = (left <= east) & (right >= west) & (top <= south) & (bottom >= north)
        inside = (left >= west) & (right <= east) & (top >= north) & (bottom <= south)
        border = touched & ~inside
        if not shift or np.count_nonzero(border) > _MOST_BORDER:
            whole.append((left[touched], top[touched], shift))
            break
        whole.append((left[inside], top[inside], shift))
        x, y = _quarters(x[border], y[border])
    return _on_curve(whole)


def _quarters(x: Cells, y: Cells) -> tuple[Cells, Cells]:
    return (2 * x[:, None] + np.array([0, 1, 0, 1])).ravel(), (2 * y[:, None] + np.array([0, 0, 1, 1])).ravel()


def _on_curve(cells: list[tuple[Cells, Cells, int]]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Where on the curve cells begin and end: a cell of any size is one stretch, set by its corner's leading digits."""
    corners = numbers(np.concatenate([x for x, _, _ in cells]), np.concatenate([y for _, y, _ in cells]), ORDER)
    shifts = np.repeat(np.array([2 * shift for *_, shift in cells], dtype=np.uint64), [len(x) for x, _, _ in cells])
    first = (corners >> shifts) << shifts
    return first, first + (np.uint64(1) << shifts)


def _merged(first: NDArray[np.intp], end: NDArray[np.intp]) -> Runs:
    order = np.argsort(first, kind="stable")
    first, end = first[order], np.maximum.accumulate(end[order])
    opens = np.ones(len(first), dtype=np.bool_)
    np.greater(first[1:], end[:-1], out=opens[1:])
    closes = np.append(opens[1:], True) if len(opens) else opens
    runs = np.stack([first[opens], end[closes]], axis=1)
    return runs[runs[:, 0] < runs[:, 1]]
