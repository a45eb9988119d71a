"""Places served over HTTP: Waypost beside its peers and a ceiling; and what building and opening a snapshot take."""
