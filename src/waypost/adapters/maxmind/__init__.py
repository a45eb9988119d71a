"""Files in MaxMind's format."""
