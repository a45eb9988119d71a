"""The snapshot: its format, how a generation is built and published, and how questions are answered from it."""
