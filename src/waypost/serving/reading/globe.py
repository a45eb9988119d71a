"""Distances on the globe, and the boxes around a circle on it."""

import math

import numpy as np
from numpy.typing import NDArray

from waypost.serving.reading.boxes import EAST, NORTH, Bounds

Floats = NDArray[np.float64]

# The mean radius of the Earth in metres; nothing is farther away than half way around it.
RADIUS = 6371008.8
FARTHEST = math.pi * RADIUS

# Boxes are this many degrees wider than computed: near the poles the arcsine has only half of its digits.
_SLACK = 2e-6
# As arrays: numpy takes as long to make an array of a number as to compute with it.
_HALF, _WHOLE, _ONE, _DIAMETER = np.array(math.pi / 360), np.array(math.pi / 180), np.array(1.0), np.array(2 * RADIUS)
_STEP = 1 << 15


def metres_to(lat: float, lon: float, lats: Floats, lons: Floats) -> Floats:
    """Great-circle distances from a point, by the haversine formula; in steps that stay in the processor's cache."""
    if len(lats) <= _STEP:
        return _haversine(lat, lon, lats, lons)
    found = np.empty(len(lats), dtype=np.float64)
    for at in range(0, len(lats), _STEP):
        found[at : at + _STEP] = _haversine(lat, lon, lats[at : at + _STEP], lons[at : at + _STEP])
    return found


def _haversine(lat: float, lon: float, lats: Floats, lons: Floats) -> Floats:
    # Both differences in one array: with few places the calls are what takes time.
    halves = np.empty((2, len(lats)), dtype=np.float64)
    np.subtract(lats, lat, out=halves[0])
    np.subtract(lons, lon, out=halves[1])
    halves *= _HALF
    np.sin(halves, out=halves)
    halves *= halves
    along, found = halves
    found *= np.cos(lats * _WHOLE)
    found *= math.cos(math.radians(lat))
    found += along
    np.sqrt(found, out=found)
    # Antipodes may round to a little more than 1.
    np.minimum(found, _ONE, out=found)
    np.arcsin(found, out=found)
    found *= _DIAMETER
    return found


def around(lat: float, lon: float, metres: float) -> Bounds:
    """A box that holds the circle with this radius around a point."""
    angle = metres / RADIUS
    reach = math.degrees(angle) + _SLACK
    south, north = lat - reach, lat + reach
    if north >= NORTH or south <= -NORTH:
        # The circle goes around a pole, or nearly.
        return -EAST, max(-NORTH, south), EAST, min(NORTH, north)
    aside = math.degrees(math.asin(min(1.0, math.sin(angle) / math.cos(math.radians(lat))))) + _SLACK
    west, east = lon - aside, lon + aside
    if west < -EAST:
        west += 2 * EAST
    if east > EAST:
        east -= 2 * EAST
    return west, south, east, north
