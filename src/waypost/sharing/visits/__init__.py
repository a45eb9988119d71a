"""Visits: each answered redirect, spooled to local disk at once and shipped to the store in batches."""
