"""Idle connections: what each of them costs, and whether anybody notices that they are there."""
