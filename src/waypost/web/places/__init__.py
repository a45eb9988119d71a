"""Places over HTTP: OGC API Features, our own short routes and vector tiles, all of them slices of one generation."""
