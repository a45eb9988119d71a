"""Places per second from a provider into a store: Waypost beside its peers, with what they take in memory and time."""
