"""Waypost imports places from rate-limited APIs, serves them from memory-mapped snapshots and shares them by links."""

__version__ = "0.1.0.dev0"
