"""Phrases a person can say on the phone: the words, the secret order they are drawn in, and how they are matched."""
