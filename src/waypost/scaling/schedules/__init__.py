"""Schedules: what is due, how far each one has come, and the loop that enqueues."""
