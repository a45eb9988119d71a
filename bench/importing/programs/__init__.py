"""Programs that import places without Waypost. Each runs in the Python that has what it needs, and imports no other."""
