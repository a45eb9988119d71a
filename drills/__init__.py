"""Drills: the whole of Waypost, as people run it, while everything around it goes wrong."""
