"""From a URL's scheme to the adapter behind it, and nothing else: the only place that names adapters."""
