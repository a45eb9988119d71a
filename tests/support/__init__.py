"""What several suites need: stores with a way to age leases, running processes, invented places."""
