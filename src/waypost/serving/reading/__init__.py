"""From a question to slices of a mapped generation."""
