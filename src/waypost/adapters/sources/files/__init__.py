"""Places from files: GeoJSON, NDJSON, CSV and GeoParquet, of any size, compressed or not."""

from waypost.adapters.sources.files.source import make

__all__ = ["make"]
