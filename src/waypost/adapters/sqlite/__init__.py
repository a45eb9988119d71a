"""Everything on SQLite: one file, nothing to install, WAL."""
