"""A provider that notes when each request came, the workers that ask it within a budget, and what the notes show."""
