"""Staying within somebody else's limits: the arithmetic of reservations, and the port for budgets."""
