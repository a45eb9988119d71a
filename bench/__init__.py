"""Benchmarks: each compares Waypost with what people use today, side by side in one run."""
