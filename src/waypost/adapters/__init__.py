"""What stands behind the ports: one folder per backend, one file per port."""
