"""Attacks from outside on a real server, drawn at random: `make test` runs one seed of each, `make chaos` many."""
