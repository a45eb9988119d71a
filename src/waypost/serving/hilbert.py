"""A Hilbert curve over the globe: places near each other get rows near each other, so that a box is few slices."""

import numpy as np
from numpy.typing import NDArray

from waypost.serving.boxes import EAST, NORTH

# 2^24 steps of longitude are 2.4 m at the equator: finer than that, neighbours may as well be sorted by id.
_ORDER = 24


def distances(lon: NDArray[np.float64], lat: NDArray[np.float64]) -> NDArray[np.uint64]:
    """How far along the curve each position lies."""
    x, y = _steps(lon, EAST), _steps(lat, NORTH)
    distance: NDArray[np.uint64] = np.zeros(len(x), dtype=np.uint64)
    for bit in range(_ORDER - 1, -1, -1):
        right, upper = (x >> bit) & 1, (y >> bit) & 1
        distance = (distance << np.uint64(2)) | ((3 * right) ^ upper).astype(np.uint64)
        x, y = _turn(x, y, right, upper)
    return distance


def _steps(degrees: NDArray[np.float64], reach: float) -> NDArray[np.int64]:
    steps: NDArray[np.int64] = ((degrees + reach) / (2 * reach) * (2**_ORDER - 1)).astype(np.int64)
    return steps


def _turn(
    x: NDArray[np.int64], y: NDArray[np.int64], right: NDArray[np.int64], upper: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each quadrant holds the same curve, turned so that its ends meet its neighbours'."""
    mirror = (upper == 0) & (right == 1)
    x, y = np.where(mirror, ~x, x), np.where(mirror, ~y, y)
    swap = upper == 0
    return np.where(swap, y, x), np.where(swap, x, y)
