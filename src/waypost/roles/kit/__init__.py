"""What processes of every kind need: a loop with signals, sockets, child processes, a folder lock, health."""
