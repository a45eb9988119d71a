"""Programs that are measured or that measure. Each runs in the Python that has what it needs."""
