"""What everybody is asked: the same places, boxes, points, words and tiles, tens of thousands of each, so that nobody
answers from a memory of what was asked before.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bench.places.generate import Floats, Written

Kind = Literal["by id", "box of 100", "nearest 10", "text prefix", "tile"]
KINDS: tuple[Kind, ...] = get_args(Kind)
IN_A_BOX = 100
# More than a box has, so that nothing is cut off.
BOX_LIMIT = 150
NEAREST = 10
TEXT_LIMIT = 10
# Where every system draws each place, and none draws clusters.
ZOOM = 14
# Degrees, beyond which nothing is.
_WORLD = 360.0

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Question:
    """Of each kind one."""

    place_id: str
    box: Box
    point: tuple[float, float]
    text: str
    tile: tuple[int, int, int]


def questions(written: Written, count: int) -> list[Question]:
    """Near places, as people ask; the points as latitude and longitude."""
    dice = np.random.default_rng(written.count)
    chosen = written.sample
    boxes = _boxes(written, dice)
    letters = dice.integers(3, 12, size=count).tolist()
    texts = list(dict.fromkeys(_typed(chosen[at % len(chosen)].name, some) for at, some in enumerate(letters)))
    tiles = _tiles(written, count, dice)
    found = []
    for number in range(count):
        place = chosen[number % len(chosen)]
        point = place.lat + float(dice.normal()) / 100, place.lon + float(dice.normal()) / 100
        found.append(
            Question(
                str(place.id),
                _moved(boxes[number % len(boxes)], *dice.uniform(-0.05, 0.05, 2).tolist()),
                (round(point[0], 6), round(point[1], 6)),
                texts[number % len(texts)],
                tiles[number % len(tiles)],
            )
        )
    return found


def _typed(name: str, letters: int) -> str:
    """The operator and the beginning of the street: `Volt Drive Linde`."""
    operator, _, street = name.rpartition(" ")
    return f"{operator} {street[:letters]}"


def _moved(box: Box, right: float, up: float) -> Box:
    """By a small part of its size: another box with about as many places."""
    west, south, east, north = box
    lon, lat = (east - west) * right, (north - south) * up
    return (
        round(max(-180.0, west + lon), 6),
        round(max(-90.0, south + lat), 6),
        round(min(180.0, east + lon), 6),
        round(min(90.0, north + lat), 6),
    )


def _boxes(written: Written, dice: np.random.Generator) -> list[Box]:
    """Around places, each with a hundred in it, or all when there are fewer."""
    order = np.argsort(written.lons)
    lons, lats = written.lons[order], written.lats[order]
    centres = dice.permutation(len(written.sample))[:2000]
    return [_around(lons, lats, written.sample[at].lon, written.sample[at].lat) for at in centres]


def _around(lons: Floats, lats: Floats, lon: float, lat: float) -> Box:
    """`lons` ascend. A box in which the height is as many kilometres as the width."""
    narrow = math.cos(math.radians(lat))
    wanted = min(IN_A_BOX, len(lons))
    half = 0.02
    while half < _WORLD:
        first, end = np.searchsorted(lons, [lon - half / narrow, lon + half / narrow])
        far = np.maximum(np.abs(lons[first:end] - lon) * narrow, np.abs(lats[first:end] - lat))
        if np.count_nonzero(far <= half) >= wanted:
            size = float(np.partition(far, wanted - 1)[wanted - 1])
            return lon - size / narrow, lat - size, lon + size / narrow, lat + size
        half *= 2
    return -180.0, -90.0, 180.0, 90.0


def _tiles(written: Written, count: int, dice: np.random.Generator) -> list[tuple[int, int, int]]:
    """Different ones, in which there are places, chosen as places are: towns more often than the countryside."""
    size = 2**ZOOM
    chosen = dice.permutation(written.count)[: 2 * count]
    x = ((written.lons[chosen] + 180) / 360 * size).astype(int)
    y = ((1 - np.arcsinh(np.tan(np.radians(written.lats[chosen]))) / math.pi) / 2 * size).astype(int)
    return [(ZOOM, *cell) for cell in dict.fromkeys(zip(x.tolist(), y.tolist(), strict=True))][:count]
