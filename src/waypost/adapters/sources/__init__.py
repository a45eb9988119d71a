"""Clients for providers."""
