"""Links: a phrase, where it leads, and how it is made."""
