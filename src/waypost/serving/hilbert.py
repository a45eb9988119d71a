"""A Hilbert curve over the map of the web (Web Mercator), so that each map tile is one run of rows.

Places near each other get rows near each other; and since the curve fills one quadrant before it enters the next, the
leading digits of a key are the number of the tile around it.
"""

import math

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]

# 2^24 cells around the equator are 2.4 m each: below that, neighbours may as well be sorted by id.
ORDER = 24
# The latitude at which the map ends; the cells at its edge also hold everything beyond.
EDGE = 85.0511287798066
_CELLS = 1 << ORDER


def keys(lon: NDArray[np.float64], lat: NDArray[np.float64]) -> NDArray[np.uint64]:
    """How far along the curve each position lies."""
    return numbers(columns(lon), lines(lat), ORDER)


def columns(lon: NDArray[np.float64]) -> Cells:
    """The cell of each longitude, eastwards."""
    return _within((lon + 180.0) / 360.0)


def lines(lat: NDArray[np.float64]) -> Cells:
    """The cell of each latitude, southwards."""
    # One by one: the last bit of a vectorised sine may depend on the vector's length, and the rows' order on that bit.
    return _within(np.array([_south(each) for each in np.clip(lat, -EDGE, EDGE).tolist()], dtype=np.float64))


def _south(lat: float) -> float:
    return 0.5 - math.atanh(math.sin(math.radians(lat))) / (2 * math.pi)


def _within(part: NDArray[np.float64]) -> Cells:
    cells: Cells = np.clip(np.floor(part * _CELLS), 0, _CELLS - 1).astype(np.int64)
    return cells


def numbers(x: Cells, y: Cells, order: int) -> NDArray[np.uint64]:
    """The number of each cell of a grid of 2^order by 2^order, such as the tiles of zoom level `order`."""
    number: NDArray[np.uint64] = np.zeros(len(x), dtype=np.uint64)
    for bit in range(order - 1, -1, -1):
        right, lower = (x >> bit) & 1, (y >> bit) & 1
        number = (number << np.uint64(2)) | ((3 * right) ^ lower).astype(np.uint64)
        x, y = _turn(x, y, right, lower)
    return number


def _turn(x: Cells, y: Cells, right: Cells, lower: Cells) -> tuple[Cells, Cells]:
    """Turns cells with their quadrant: each holds the same curve, turned so that its ends meet its neighbours'."""
    mirror = (lower == 0) & (right == 1)
    x, y = np.where(mirror, ~x, x), np.where(mirror, ~y, y)
    swap = lower == 0
    return np.where(swap, y, x), np.where(swap, x, y)
