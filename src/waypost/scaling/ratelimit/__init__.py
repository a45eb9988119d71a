"""Staying within a provider's limits: the arithmetic of reservations, and the port for budgets."""
