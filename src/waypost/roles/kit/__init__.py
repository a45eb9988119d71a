"""What processes share: a loop with signals, sockets, children, a folder lock, health, and handlers for jobs."""
