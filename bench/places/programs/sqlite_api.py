"""SQLite behind FastAPI, as somebody would write it who wants it quick: each place is there as the bytes to send, in an
R*Tree and a prefix index, read by one connection in the one thread that there is.
"""

import math
import sqlite3
import sys
from collections.abc import Callable, Iterable
from typing import Any

import uvicorn
from fastapi import FastAPI, Response

Find = Callable[..., Any]
_JSON = "application/geo+json"
_EARTH = 6_371_008.8
_METRES_A_DEGREE = 2 * math.pi * _EARTH / 360
_BY_ID = "select feature from places where id = ?"
# The tree keeps its numbers as 32-bit floats, somewhat larger than the box: the exact ones decide.
_IN_BOX = """
select feature, lon, lat from boxes cross join places on places.row = boxes.row
where east >= :west and west <= :east and north >= :south and south <= :north
and lon between :west and :east and lat between :south and :north limit :limit
"""
_BY_TEXT = """
select feature from words join places on places.row = words.rowid where words match ? limit ?
"""


def make(path: str) -> FastAPI:
    app = FastAPI(openapi_url=None)
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    connection.execute("pragma mmap_size = 4294967296")
    find = connection.execute

    @app.get("/places/{place_id}")
    async def by_id(place_id: str) -> Response:
        found = find(_BY_ID, [bytes.fromhex(place_id.replace("-", ""))]).fetchone()
        return Response(found[0], media_type=_JSON) if found else Response(status_code=404)

    @app.get("/box")
    async def box(bbox: str, limit: int) -> Response:
        west, south, east, north = map(float, bbox.split(","))
        return _collection(row[0] for row in _in_box(find, west, south, east, north, limit))

    @app.get("/near")
    async def near(lat: float, lon: float, limit: int) -> Response:
        return _collection(_nearest(find, lat, lon, limit))

    @app.get("/text")
    async def text(q: str, limit: int) -> Response:
        *whole, last = q.replace('"', " ").split()
        match = " ".join([*(f'"{word}"' for word in whole), f'"{last}"*'])
        return _collection(row[0] for row in find(_BY_TEXT, [match, limit]))

    return app


def _collection(features: Iterable[bytes]) -> Response:
    return Response(b'{"type":"FeatureCollection","features":[' + b",".join(features) + b"]}", media_type=_JSON)


def _in_box(
    find: Find, west: float, south: float, east: float, north: float, limit: int
) -> list[tuple[bytes, float, float]]:
    asked = {"west": west, "south": south, "east": east, "north": north, "limit": limit}
    found: list[tuple[bytes, float, float]] = find(_IN_BOX, asked).fetchall()
    return found


def _nearest(find: Find, lat: float, lon: float, limit: int) -> list[bytes]:
    """Boxes that grow until there are enough within the circle that fits into them."""
    degrees = 0.01
    while True:
        wide = min(180.0, degrees / max(0.01, math.cos(math.radians(lat))))
        rows = _in_box(find, lon - wide, lat - degrees, lon + wide, lat + degrees, -1)
        ranked = sorted((_metres(lat, lon, row[2], row[1]), row[0]) for row in rows)
        near = [feature for metres, feature in ranked if metres <= degrees * _METRES_A_DEGREE]
        if len(near) >= limit or wide >= 180:  # noqa: PLR2004 - all of the world
            return (near if len(near) >= limit else [feature for _, feature in ranked])[:limit]
        degrees *= 2


def _metres(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    south, north = math.radians(lat), math.radians(other_lat)
    high, wide = math.sin((north - south) / 2), math.sin(math.radians(other_lon - lon) / 2)
    return 2 * _EARTH * math.asin(math.sqrt(high * high + math.cos(south) * math.cos(north) * wide * wide))


if __name__ == "__main__":
    uvicorn.run(make(sys.argv[1]), port=int(sys.argv[2]), log_level="warning", access_log=False)
