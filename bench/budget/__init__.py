"""One allowance for many workers: Waypost's budget beside its peers, on one private Redis and one counting provider."""
