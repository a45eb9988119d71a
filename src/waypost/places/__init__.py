"""The place itself: one point of interest, normalised, and where places are kept."""
