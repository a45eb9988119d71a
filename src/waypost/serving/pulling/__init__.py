"""Bringing generations from another machine."""
