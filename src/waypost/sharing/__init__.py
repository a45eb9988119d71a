"""The third wing: memorable phrases, the links they lead to, the visits they get."""
