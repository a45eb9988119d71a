"""The terms under which providers let us use their places."""

import msgspec


class Licence(msgspec.Struct, frozen=True):
    """The licence's name, whom to name where the places are shown, and where the terms can be read."""

    name: str
    attribution: str
    url: str | None = None

    @property
    def sentence(self) -> str:
        terms = f"{self.name} ({self.url})" if self.url else self.name
        return f"{self.attribution}, {terms}" if terms else self.attribution
