"""JSON APIs that a file describes: the source, its tables, its pages and its questions."""

from waypost.adapters.sources.json_api.source import make

__all__ = ["make"]
