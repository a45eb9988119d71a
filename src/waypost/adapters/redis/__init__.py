"""What Waypost keeps in Redis: one file per port, its Lua in a folder of the same name."""
