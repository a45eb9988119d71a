"""What Waypost keeps in Redis: a file a port, its Lua in a folder of the same name."""
