"""Events: facts that are written down with their cause, and what will carry them to others."""
