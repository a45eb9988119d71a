"""The places nearest to a point, by great-circle distance, with any conditions: exact even at poles and antimeridian.

geoindex-rs knows only distances in degrees. Its neighbours tell how far to look: a straight line on the plane of
degrees is never shorter than the way on the globe, so a circle of that radius holds at least as many places. All places
in a box around the circle are then ranked by their real distance.
"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from geoindex_rs.rtree import neighbors
from numpy.typing import NDArray

from waypost.serving.reading.boxes import EAST, cut, is_everywhere
from waypost.serving.reading.columns import Columns
from waypost.serving.reading.conditions import Condition
from waypost.serving.reading.globe import FARTHEST, RADIUS, around, metres_to
from waypost.serving.reading.grid import Grid
from waypost.serving.reading.inside import MANY, Inside, in_boxes
from waypost.serving.reading.rowsets import NO_ROWS, Rows

Floats = NDArray[np.float64]

# Up to this many rows are ranked without looking for a circle first.
_FEW = 5_000
# Where at least one row in this many is wanted, a circle would save less time than finding it takes.
_MUCH = 4
# At most this many neighbours are asked for; a circle for more is estimated from theirs.
_MOST_NEIGHBOURS = 1_000
# From this latitude on, and beyond this many degrees, degrees of longitude tell little about distance.
_HIGH, _FAR = 60.0, 2.0
# How much farther to look when too few were found.
_LEAST_STEP, _MOST_STEP = 1.5, 8.0


class Ranked(msgspec.Struct, frozen=True, eq=False):
    """Rows, nearest first, equally near ones by row; `matched` counts all matching rows, where that is known."""

    rows: Rows
    metres: Floats
    matched: int | None
    goes_on: bool


class Nearest:
    def __init__(self, columns: Columns, grid: Grid) -> None:
        self._columns, self._grid = columns, grid
        self._count = columns.count

    def ranked(
        self,
        near: tuple[float, float],
        ranks: tuple[int, int],
        radius: float | None,
        conditions: Sequence[Condition],
    ) -> Ranked:
        """The places from one rank up to another among those that meet the conditions, within a radius if there is one.

        The higher the ranks, the more places are measured, at worst all of them.
        """
        start, end = min(ranks[0], self._count), min(ranks[1], self._count)
        # Beyond the last place there is nothing to look for.
        wanted = end if start < end else 0
        if wanted < min(_MOST_NEIGHBOURS, self._count) and radius is None and not conditions:
            rows, metres = self._nearby(near, wanted)
            return Ranked(rows[start:], metres[start:], self._count, goes_on=start < end)
        most = FARTHEST if radius is None else min(radius, FARTHEST)
        rows, metres, is_all = self._candidates(near, wanted, most, conditions)
        if is_all:
            matched: int | None = len(rows)
        else:
            matched = self._count if radius is None and not conditions else None
        return Ranked(*_between(rows, metres, start, wanted), matched, goes_on=0 < wanted < len(rows))

    def within(self, near: tuple[float, float], radius: float, conditions: Sequence[Condition]) -> Rows:
        """All rows within a radius that meet the conditions, ascending."""
        return self._inside(near, min(radius, FARTHEST), conditions)[0]

    def _candidates(
        self, near: tuple[float, float], wanted: int, most: float, conditions: Sequence[Condition]
    ) -> tuple[Rows, Floats, bool]:
        """More rows than wanted that are nearer than all others, or all matching rows; and whether these are all."""
        if not self._count:
            return NO_ROWS, np.empty(0), True
        if self._is_small(near, wanted, most, conditions):
            return *self._inside(near, most, conditions), True
        # One more than wanted, to know whether the list goes on.
        reach = min(most, self._reach(near, wanted + 1, conditions))
        while True:
            rows, metres = self._inside(near, reach, conditions)
            if reach >= most:
                return rows, metres, True
            if len(rows) > wanted:
                return rows, metres, False
            step = math.sqrt((wanted + 1) / max(1, len(rows))) * 1.2
            reach = min(most, reach * min(_MOST_STEP, max(_LEAST_STEP, step)))

    def _is_small(self, near: tuple[float, float], wanted: int, most: float, conditions: Sequence[Condition]) -> bool:
        """Whether all candidates can be ranked at once, because they are few or many of them are wanted."""
        if (conditions[0].most if conditions else self._count) <= max(_FEW, _MUCH * wanted):
            return True
        return most < FARTHEST and Inside(self._columns, self._grid, around(*near, most)).most <= MANY

    def _nearby(self, near: tuple[float, float], wanted: int) -> tuple[Rows, Floats]:
        """The nearest few places without conditions, which is what most clients ask for."""
        columns, reach = self._columns, self._farthest(near, max(1, wanted))
        rows = in_boxes(columns, cut(*around(*near, reach)))
        metres = metres_to(*near, columns.lat.take(rows), columns.lon.take(rows))
        order = metres.argsort(kind="stable")[:wanted]
        return rows.take(order), metres.take(order)

    def _inside(self, near: tuple[float, float], reach: float, conditions: Sequence[Condition]) -> tuple[Rows, Floats]:
        """All rows within a reach that meet the conditions, and how far they are."""
        rows, columns = self._in_box(near, reach, conditions), self._columns
        metres = metres_to(*near, columns.lat[rows], columns.lon[rows])
        if reach >= FARTHEST:
            return rows, metres
        held = metres <= reach
        return rows[held], metres[held]

    def _in_box(self, near: tuple[float, float], reach: float, conditions: Sequence[Condition]) -> Rows:
        box = around(*near, reach)
        everything = list(conditions)
        if not is_everywhere(box) or not conditions:
            everything.append(Inside(self._columns, self._grid, box))
            everything.sort(key=lambda condition: condition.most)
        rows = everything[0].rows()
        for condition in everything[1:]:
            rows = condition.keep(rows)
        return rows

    def _reach(self, near: tuple[float, float], wanted: int, conditions: Sequence[Condition]) -> float:
        """How far away the last of the wanted places is at most; an estimate if they are many or have conditions."""
        if conditions:
            wanted = wanted * self._count // max(1, conditions[0].most)
        asked = min(wanted, _MOST_NEIGHBOURS)
        return self._farthest(near, asked) * max(1.0, math.sqrt(wanted / asked))

    def _farthest(self, near: tuple[float, float], wanted: int) -> float:
        lat, lon = near
        columns = self._columns
        found = np.asarray(neighbors(columns.tree, lon, lat, max_results=wanted, max_distance=None))
        last = int(found[-1])
        degrees = math.hypot(columns.lat[last] - lat, columns.lon[last] - lon)
        if len(found) < wanted:
            return FARTHEST
        if degrees < _FAR and abs(lat) < _HIGH and abs(lon) + degrees <= EAST:
            # A little more: a place at exactly this distance must not be lost to rounding.
            return math.radians(degrees) * RADIUS * (1 + 1e-9) + 1e-3
        return self._farthest_around(near, wanted, found)

    def _farthest_around(self, near: tuple[float, float], wanted: int, found: NDArray[np.integer]) -> float:
        """As `_farthest`, by real distances and with neighbours across the antimeridian."""
        (lat, lon), columns = near, self._columns
        behind = lon - math.copysign(2 * EAST, lon)
        others = np.asarray(neighbors(columns.tree, behind, lat, max_results=wanted, max_distance=None))
        either = np.unique(np.concatenate([found, others]))
        metres = np.sort(metres_to(lat, lon, columns.lat[either], columns.lon[either]))
        return float(metres[min(wanted, len(metres)) - 1]) * (1 + 1e-9) + 1e-3


def _between(rows: Rows, metres: Floats, start: int, end: int) -> tuple[Rows, Floats]:
    """The rows from one rank up to another, nearest first; rows ascend, so a stable sort keeps equals in row order."""
    end = min(end, len(rows))
    if start >= end:
        return rows[:0], metres[:0]
    if len(rows) > 2 * (end - start):
        parted = np.partition(metres, (start, end - 1))
        held = (metres >= parted[start]) & (metres <= parted[end - 1])
        nearer = int(np.count_nonzero(metres < parted[start]))
        rows, metres, start, end = rows[held], metres[held], start - nearer, end - nearer
    order = metres.argsort(kind="stable")[start:end]
    return rows[order], metres[order]
