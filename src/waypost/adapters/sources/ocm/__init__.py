"""Open Charge Map: the source, the records it understands, and its settings."""
