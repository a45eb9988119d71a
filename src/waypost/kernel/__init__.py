"""What every room stands on: errors, ids, clocks, backoff, text folding, settings. Standard library only."""
