"""The world as a quadtree: cells with stable names, and which of them cover a box.

The world is 360 by 180 degrees; each cell is cut in four in degrees, not on a map's projection, so that poles have
cells too. A cell's name is `q` and one digit per level: 0 north-west, 1 north-east, 2 south-west, 3 south-east. `q` is
the world, and a cell's name begins with the names of all cells that contain it.

Cells include their west and south edges, not their east and north ones, except at the edge of the world. All edges are
exact in binary, so that a point is in exactly one cell of a depth, whatever its coordinates.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from waypost.kernel.errors import AskedWrongly
from waypost.scaling.jobs.shard_keys import BadShardKey

EAST, NORTH = 180.0, 90.0
# The depth of the smallest cells of a plan (about 39 by 20 km), and how many cells of one depth it may have.
PLAN_DEPTH = 10
MOST_CELLS = 16
# Where many places share one spot, smaller cells would not separate them: from this depth on they are cut by id.
FLOOR_DEPTH = 14
# Deep enough for codes to separate places that no cell separates, and small enough for numbers of 18 digits.
CODE_DEPTH = 24

_NAME = re.compile(rf"q([0-3]{{0,{FLOOR_DEPTH}}})", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)\s*", re.ASCII)
_SIDES = 4


class BadArea(AskedWrongly):
    """The box to import cannot be understood, or lies outside the globe."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}; write it as west,south,east,north: 5.8,47.2,15.1,55.1", parameter="bbox")


class Box(msgspec.Struct, frozen=True):
    """A box that includes all its edges; one whose west is greater than its east crosses the antimeridian."""

    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        lons, lats = (self.west, self.east), (self.south, self.north)
        if not all(math.isfinite(lon) and abs(lon) <= EAST for lon in lons):
            raise BadArea(f"longitudes go from -180 to 180, and the box has {self.west} and {self.east}")
        if not all(math.isfinite(lat) and abs(lat) <= NORTH for lat in lats):
            raise BadArea(f"latitudes go from -90 to 90, and the box has {self.south} and {self.north}")
        if self.south > self.north:
            raise BadArea(f"the box's south, {self.south}, lies north of its north, {self.north}")

    def spans(self) -> Sequence[tuple[float, float]]:
        """Its longitudes, from west to east, in parts that do not cross the antimeridian."""
        if self.west <= self.east:
            return ((self.west, self.east),)
        return ((self.west, EAST), (-EAST, self.east))

    @classmethod
    def parse(cls, text: str) -> "Box":
        parts = text.split(",")
        if len(parts) != _SIDES or not all(_NUMBER.fullmatch(part) for part in parts):
            raise BadArea(f"{text[:80]!r} is not a box of four numbers")
        return cls(*map(float, parts))


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, by the quadrants that lead to it."""

    path: str

    def __str__(self) -> str:
        return f"q{self.path}"

    @classmethod
    def parse(cls, text: str) -> "Cell":
        match = _NAME.fullmatch(text)
        if not match:
            raise BadShardKey(
                f"{text!r} is not a cell; it should look like q1022: q, then at most {FLOOR_DEPTH} digits from 0 to 3"
            )
        return cls(match[1])

    @property
    def depth(self) -> int:
        return len(self.path)

    @property
    def bounds(self) -> Box:
        west, south, width, height = -EAST, -NORTH, 2 * EAST, 2 * NORTH
        for digit in self.path:
            width, height = width / 2, height / 2
            west += width * (digit in "13")
            south += height * (digit in "01")
        return Box(west, south, west + width, south + height)

    def holds(self, lat: float, lon: float) -> bool:
        return cell_of(lat, lon, self.depth) == self

    @property
    def codes(self) -> range:
        """The codes of all points in the cell: one run of numbers, whose quarters belong to the cell's quarters."""
        below = 4 ** (CODE_DEPTH - self.depth)
        first = int(self.path or "0", 4) * below
        return range(first, first + below)

    def quarters(self) -> tuple["Cell", ...]:
        """The four cells inside it, or nothing at the floor."""
        return tuple(Cell(self.path + digit) for digit in "0123") if self.depth < FLOOR_DEPTH else ()


def cell_of(lat: float, lon: float, depth: int) -> Cell:
    """The one cell of this depth that a point is in."""
    return _cell(_index(lon, EAST, depth), _index(lat, NORTH, depth), depth)


def code_of(lat: float, lon: float) -> int:
    """A point's number along the quadtree, such that points in one cell have numbers in one run."""
    return int(cell_of(lat, lon, CODE_DEPTH).path, 4)


def cover(box: Box) -> list[Cell]:
    """Whole cells that hold every point of a box once: the smallest that are not too many, joined where four make one.

    Places in these cells but outside the box come along: a cell cut to the box would need the box in its key.
    """
    for depth in range(PLAN_DEPTH, 0, -1):
        columns = {
            column
            for west, east in box.spans()
            for column in range(_index(west, EAST, depth), _index(east, EAST, depth) + 1)
        }
        rows = range(_index(box.south, NORTH, depth), _index(box.north, NORTH, depth) + 1)
        if len(columns) * len(rows) <= MOST_CELLS:
            return _joined(_cell(column, row, depth) for column in columns for row in rows)
    return [Cell("")]


def _joined(cells: Iterable[Cell]) -> list[Cell]:
    """The same area in the fewest cells, in the order of their names."""
    paths = {cell.path for cell in cells}
    for depth in range(PLAN_DEPTH, 0, -1):
        for parent in {path[:-1] for path in paths if len(path) == depth}:
            quarters = {parent + digit for digit in "0123"}
            if quarters <= paths:
                paths = paths - quarters | {parent}
    return [Cell(path) for path in sorted(paths)]


def _index(degrees: float, edge: float, depth: int) -> int:
    """Which of 2^depth stripes between -edge and edge holds a value; found by comparing, because adding would round."""
    low, high, index = -edge, edge, 0
    for _ in range(depth):
        middle = (low + high) / 2
        upper = degrees >= middle
        low, high = (middle, high) if upper else (low, middle)
        index = index * 2 + upper
    return index


def _cell(column: int, row: int, depth: int) -> Cell:
    """Columns count from the west, rows from the south."""
    bits = ((column >> level & 1, row >> level & 1) for level in reversed(range(depth)))
    return Cell("".join(str(east + 2 * (1 - north)) for east, north in bits))
