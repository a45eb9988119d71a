"""Who may do what: keys, their scopes, and whoever asks."""
