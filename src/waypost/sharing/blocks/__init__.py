"""Blocks: hosts that no link may lead to, and words that no new phrase may have, changed while servers run."""
