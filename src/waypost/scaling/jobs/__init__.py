"""Shard keys, jobs and their leases, and the worker that holds them."""
