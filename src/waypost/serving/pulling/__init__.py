"""Pulling generations from another machine."""
