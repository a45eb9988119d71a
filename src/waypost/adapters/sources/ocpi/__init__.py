"""OCPI, the charging industry's standard: locations of versions 2.1.1, 2.2 and 2.2.1."""

from waypost.adapters.sources.ocpi.source import make

__all__ = ["make"]
