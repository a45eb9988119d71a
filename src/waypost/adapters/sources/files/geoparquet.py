"""Which columns of a Parquet file are geometries, and what they say, as GeoJSON. See geoparquet.org."""

from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.adapters.sources.files.formats import FileBroken
from waypost.adapters.sources.files.wkb import to_geojson

GEOMETRY = "geometry"
# Encodings that keep coordinates in columns, each with the kind of its geometries.
_NATIVE = {
    "point": "Point",
    "linestring": "LineString",
    "polygon": "Polygon",
    "multipoint": "MultiPoint",
    "multilinestring": "MultiLineString",
    "multipolygon": "MultiPolygon",
}


class _Column(msgspec.Struct):
    encoding: str = "WKB"
    crs: dict[str, Any] | None = None


class _Metadata(msgspec.Struct):
    columns: dict[str, _Column]
    primary_column: str = GEOMETRY


@dataclass(frozen=True)
class Geometries:
    """Encodings by column. The primary column is also called `geometry`, whatever its name is in the file."""

    encodings: dict[str, str]
    primary: str

    @classmethod
    def read(cls, schema: Any) -> "Geometries":
        """Raises FileBroken for coordinates that are not degrees: taken as such, they would lie anywhere."""
        text = (schema.metadata or {}).get(b"geo")
        if text is None:
            # Newer files may only have a type for it, which the reader gives us as binary.
            return cls({GEOMETRY: "WKB"} if GEOMETRY in schema.names else {}, GEOMETRY)
        try:
            metadata = msgspec.json.decode(text, type=_Metadata)
        except msgspec.DecodeError as error:
            raise FileBroken(f"its metadata for geometries cannot be read: {error}") from None
        crs = metadata.columns.get(metadata.primary_column, _Column()).crs or {}
        if crs.get("type", "GeographicCRS") != "GeographicCRS":
            raise FileBroken(
                f"its coordinates are in {crs.get('name')}; convert it to longitude and latitude (OGC:CRS84)"
            )
        encodings = {name: each.encoding for name, each in metadata.columns.items() if name in schema.names}
        return cls(encodings, metadata.primary_column)

    @property
    def columns(self) -> set[str]:
        return {*self.encodings, *([GEOMETRY] if self.primary in self.encodings else [])}

    def decode(self, row: dict[str, Any]) -> str | None:
        """Replaces encoded geometries by GeoJSON; returns the reason if one cannot be read."""
        reason = None
        for name, encoding in self.encodings.items():
            try:
                row[name] = _decode(row[name], encoding)
            except (ValueError, TypeError, KeyError) as error:
                row[name], reason = None, f"{name} cannot be read: {error}"
        if self.primary in row:
            row.setdefault(GEOMETRY, row[self.primary])
        return reason


def _decode(found: Any, encoding: str) -> Any:
    if isinstance(found, bytes):
        return to_geojson(found)
    if found is None or encoding not in _NATIVE:
        return found
    return {"type": _NATIVE[encoding], "coordinates": _coordinates(found)}


def _coordinates(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return [found["x"], found["y"]]
    return [_coordinates(each) for each in found]
