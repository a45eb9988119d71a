"""Ports in memory: for one process that keeps nothing, and as the plainest statement of what each port means."""
