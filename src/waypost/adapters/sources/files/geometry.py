"""One point for a geometry of GeoJSON: the point itself, or one that stands for a line or an area."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from waypost.adapters.sources.fields import Point, as_point

_DEEPEST = 8
_CORNERS = 3


def point_of(found: Any, depth: int = 0) -> Point:
    """Longitude and latitude from a geometry, or from a pair of them. Raises ValueError.

    For an area it is the outline's centre of gravity, for a line its middle corner, for several that of the largest.
    """
    if not isinstance(found, Mapping):
        return as_point(found)
    kind = found.get("type")
    if kind == "GeometryCollection" and depth < _DEEPEST:
        parts = found.get("geometries")
        return point_of(parts[0] if isinstance(parts, list) and parts else None, depth + 1)
    try:
        return _POINTS[kind](found["coordinates"])
    except (TypeError, IndexError, KeyError):
        raise ValueError(f"its geometry, of type {kind}, has no position that can be read") from None


def _middle(corners: Sequence[Any]) -> Point:
    return as_point(corners[len(corners) // 2])


def _centre(rings: Sequence[Any]) -> Point:
    ring = [as_point(corner) for corner in rings[0]]
    area, lon, lat = _moments(ring)
    if len(ring) > _CORNERS and area:
        return lon / area, lat / area
    lons, lats = zip(*ring, strict=True)
    return (min(lons) + max(lons)) / 2, (min(lats) + max(lats)) / 2


def _area(rings: Sequence[Any]) -> float:
    return abs(_moments([as_point(corner) for corner in rings[0]])[0])


def _moments(ring: list[Point]) -> tuple[float, float, float]:
    """Area and first moments of a closed ring, reckoned from its first corner: from afar, small areas would drown."""
    lon0, lat0 = ring[0]
    area = lon = lat = 0.0
    for (x1, y1), (x2, y2) in pairwise(ring):
        x1, y1, x2, y2 = x1 - lon0, y1 - lat0, x2 - lon0, y2 - lat0  # noqa: PLW2901 - shifted
        cross = x1 * y2 - x2 * y1
        area += cross / 2
        lon += (x1 + x2) * cross / 6
        lat += (y1 + y2) * cross / 6
    return area, lon + lon0 * area, lat + lat0 * area


_POINTS: dict[Any, Callable[[Any], Point]] = {
    "Point": as_point,
    "MultiPoint": lambda points: as_point(points[0]),
    "LineString": _middle,
    "MultiLineString": lambda lines: _middle(max(lines, key=len)),
    "Polygon": _centre,
    "MultiPolygon": lambda polygons: _centre(max(polygons, key=_area)),
}
