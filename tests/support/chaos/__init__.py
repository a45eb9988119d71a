"""Imports by real workers while processes, networks, clocks and stores fail, and the proof that it had no effect.

A drill takes a seed, which decides when what happens to whom. `tests/e2e` runs one seed of each, `chaos/` many.
"""
