"""Jobs per second, pick-up latency, statements per job: Waypost beside its peers on one private PostgreSQL."""
