"""Caching: what was read once is answered from memory for a while, and never after it was invalidated."""
