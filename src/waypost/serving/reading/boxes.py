"""Boxes on the globe: how they are written, which ones make sense, and how they are cut at the antimeridian."""

import re

from waypost.kernel.errors import AskedWrongly

# The greatest longitude and latitude.
EAST, NORTH = 180.0, 90.0

Bounds = tuple[float, float, float, float]

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_FLAT, _WITH_HEIGHTS = 4, 6


class BadBox(AskedWrongly):
    """The box cannot be understood, or lies outside the globe."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message, parameter="bbox", next_step="write it as west,south,east,north: bbox=5.8,47.2,15.1,55.1"
        )


def parse_box(text: str) -> Bounds:
    """West, south, east and north from `W,S,E,N`, or from `W,S,lowest,E,N,highest`, whose heights are not used."""
    parts = text.split(",")
    if len(parts) not in {_FLAT, _WITH_HEIGHTS}:
        raise BadBox(f"a box has 4 numbers, or 6 with heights, and this one has {len(parts)}")
    for part in parts:
        if not _NUMBER.fullmatch(part):
            raise BadBox(f"{part!r} is not a number")
    numbers = [float(part) for part in parts]
    if len(parts) == _WITH_HEIGHTS:
        del numbers[5], numbers[2]
    west, south, east, north = numbers
    check_box(west, south, east, north)
    return west, south, east, north


def on_earth(lon: float, lat: float) -> bool:
    """Whether a position is on Earth; not-a-number fails both comparisons, as it should."""
    return -EAST <= lon <= EAST and -NORTH <= lat <= NORTH


def check_box(west: float, south: float, east: float, north: float) -> None:
    if not (on_earth(west, south) and on_earth(east, north)):
        raise BadBox(
            f"longitudes go from -180 to 180 and latitudes from -90 to 90; the box has {west}, {south}, {east}, {north}"
        )
    if south > north:
        raise BadBox(f"the box's south, {south}, lies north of its north, {north}")


def cut(west: float, south: float, east: float, north: float) -> tuple[Bounds, ...]:
    """Cuts a box into parts that do not cross the antimeridian; no longitude is in two of them."""
    if west <= east:
        return ((west, south, east, north),)
    return ((west, south, EAST, north), (-EAST, south, east, north))


def is_everywhere(box: Bounds) -> bool:
    return box == (-EAST, -NORTH, EAST, NORTH)
