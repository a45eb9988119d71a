"""Names of hosts, looked up as this machine does it."""
