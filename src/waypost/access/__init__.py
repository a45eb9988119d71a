"""Who may do what: keys, their scopes, and callers."""
