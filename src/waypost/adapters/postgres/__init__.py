"""PostgreSQL, for a fleet: many processes on one store."""
