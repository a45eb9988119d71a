"""What each kind of process is made of, and how it runs and stops."""
