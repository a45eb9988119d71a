"""Adapters that speak HTTP to servers of our own kind."""
