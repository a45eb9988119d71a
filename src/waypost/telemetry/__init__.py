"""Logs and metrics: their names, and the few helpers the other rooms use."""
