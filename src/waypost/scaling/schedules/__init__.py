"""Schedules: what is due, how far each one is, and the loop that enqueues."""
