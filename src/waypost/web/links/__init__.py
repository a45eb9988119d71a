"""Links over HTTP: made, looked at, changed and counted."""
