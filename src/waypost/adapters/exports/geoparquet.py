"""GeoParquet 1.1: one row per place, its position as well-known binary, row group by row group. See geoparquet.org."""

import struct
from collections.abc import Iterable
from datetime import datetime
from typing import Any, BinaryIO

import msgspec

from waypost.adapters.sources.files.formats import missing_library
from waypost.kernel.clock import from_text
from waypost.serving.exporting import Progress
from waypost.serving.reading.reader import Generation

# What is in memory at once.
_ROWS_A_GROUP = 16_384
# Byte order (little), kind (point), x, y.
_POINT = struct.Struct("<bIdd")
_GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    # Without a CRS it is OGC:CRS84: longitude and latitude in degrees.
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}},
}
_PLAIN = ("external_id", "source", "name", "country", "operator", "status")
_ADDRESS = ("street", "town", "region", "postcode")


def write_geoparquet(generation: Generation, file: BinaryIO, progress: Progress) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and only some need it
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above
    except ImportError:
        raise missing_library("GeoParquet") from None
    schema = _schema(pa, generation)
    with pq.ParquetWriter(pa.PythonFile(file, "w"), schema, compression="zstd") as writer:
        for start in range(0, generation.count, _ROWS_A_GROUP):
            rows = range(start, min(start + _ROWS_A_GROUP, generation.count))
            writer.write_table(pa.table(_columns(generation, rows), schema=schema), row_group_size=_ROWS_A_GROUP)
            progress(rows.stop)


def _schema(pa: Any, generation: Generation) -> Any:
    text = pa.string()
    fields = [
        ("id", text),
        *((name, text) for name in _PLAIN),
        *((name, text) for name in _ADDRESS),
        ("categories", pa.list_(text)),
        ("power_kw", pa.float64()),
        ("points", pa.int64()),
        # As JSON, because each source has its own, and they differ from place to place.
        ("attributes", text),
        ("provider_updated_at", pa.timestamp("us", tz="UTC")),
        ("geometry", pa.binary()),
    ]
    about = {"generation": generation.name, "attribution": generation.manifest.attribution}
    return pa.schema(fields, metadata={"geo": msgspec.json.encode(_GEO), "waypost": msgspec.json.encode(about)})


def _columns(generation: Generation, rows: range) -> dict[str, Iterable[Any]]:
    features = [msgspec.json.decode(generation.feature(row)) for row in rows]
    properties = [feature["properties"] for feature in features]
    attributes = [each.get("attributes") or {} for each in properties]
    return {
        "id": [feature["id"] for feature in features],
        **{name: [each.get(name) for each in properties] for name in _PLAIN},
        **{name: [(each.get("address") or {}).get(name) for each in properties] for name in _ADDRESS},
        "categories": [each.get("categories") for each in properties],
        "power_kw": [each.get("power_kw") for each in attributes],
        "points": [each.get("points") for each in attributes],
        "attributes": [msgspec.json.encode(each).decode() for each in attributes],
        "provider_updated_at": [_moment(each.get("provider_updated_at")) for each in properties],
        "geometry": [_POINT.pack(1, 1, *feature["geometry"]["coordinates"]) for feature in features],
    }


def _moment(text: str | None) -> datetime | None:
    return from_text(text) if text else None
