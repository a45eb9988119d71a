"""Links over HTTP: made, looked at, and followed."""
