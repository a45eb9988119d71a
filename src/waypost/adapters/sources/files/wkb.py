"""Well-known binary, the form in which GeoParquet has geometries, as GeoJSON.

byte order (0 big, 1 little), kind, [SRID], then for a point its numbers; for all else a count, and as many points
(line), rings of points (polygon), or geometries (the others). Kinds above 1000, or with high bits, have Z or M.
"""

import struct
from typing import Any

_POINT, _LINE, _POLYGON, _COLLECTION = 1, 2, 3, 7
_NAMES = {
    1: "Point",
    2: "LineString",
    3: "Polygon",
    4: "MultiPoint",
    5: "MultiLineString",
    6: "MultiPolygon",
    7: "GeometryCollection",
}
_Z, _M, _SRID = 0x80000000, 0x40000000, 0x20000000
_PLAIN_POINT = struct.Struct("<bIdd")
_DEEPEST = 8


def to_geojson(wkb: bytes) -> dict[str, Any]:
    """Raises ValueError. Heights and measures are left out."""
    if len(wkb) == _PLAIN_POINT.size:
        order, kind, x, y = _PLAIN_POINT.unpack(wkb)
        if order == kind == 1:
            return {"type": "Point", "coordinates": [x, y]}
    try:
        return _Cursor(wkb).geometry()
    except (struct.error, KeyError) as error:
        raise ValueError(f"its geometry is not well-known binary: {error}") from None


class _Cursor:
    def __init__(self, wkb: bytes) -> None:
        self._wkb = wkb
        self._at = 0
        self._order = "<"

    def geometry(self, depth: int = 0) -> dict[str, Any]:
        if depth > _DEEPEST:
            raise ValueError("its geometry is nested too deeply")
        self._order = "<" if self._take("b")[0] else ">"
        kind = self._take("I")[0]
        if kind & _SRID:
            self._take("I")
        dimensions = 2 + bool(kind & _Z) + bool(kind & _M)
        kind &= ~(_Z | _M | _SRID)
        dimensions += (0, 1, 1, 2)[kind // 1000] if kind < 4000 else 0  # noqa: PLR2004 - plain, Z, M, ZM
        kind %= 1000
        return self._body(kind, dimensions, depth)

    def _body(self, kind: int, dimensions: int, depth: int) -> dict[str, Any]:
        name = _NAMES[kind]
        if kind == _POINT:
            return {"type": name, "coordinates": self._points(1, dimensions)[0]}
        count = self._take("I")[0]
        if kind == _LINE:
            return {"type": name, "coordinates": self._points(count, dimensions)}
        if kind == _POLYGON:
            rings = [self._points(self._take("I")[0], dimensions) for _ in range(count)]
            return {"type": name, "coordinates": rings}
        parts = [self.geometry(depth + 1) for _ in range(count)]
        if kind == _COLLECTION:
            return {"type": name, "geometries": parts}
        return {"type": name, "coordinates": [part.get("coordinates") for part in parts]}

    def _points(self, count: int, dimensions: int) -> list[list[float]]:
        # A count that promises more than there is must not take memory first.
        if count * dimensions * 8 > len(self._wkb) - self._at:
            raise ValueError("its geometry is shorter than it says")
        numbers = self._take(f"{count * dimensions}d")
        return [list(numbers[at : at + 2]) for at in range(0, len(numbers), dimensions)]

    def _take(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(self._order + form, self._wkb, self._at)
        self._at += struct.calcsize(self._order + form)
        return found
