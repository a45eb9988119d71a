"""What stands behind the ports: a folder a backend, a file a port."""
