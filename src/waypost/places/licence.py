"""The terms under which providers let us use their places, and what a store remembers of them."""

from collections.abc import Mapping

import msgspec

from waypost.scaling.fact_store import Facts


class Licence(msgspec.Struct, frozen=True):
    """The licence's name, whom to name where the places are shown, and where the terms can be read."""

    name: str
    attribution: str
    url: str | None = None

    @property
    def sentence(self) -> str:
        terms = f"{self.name} ({self.url})" if self.url else self.name
        return f"{self.attribution}, {terms}" if terms else self.attribution


_FACT = "licences"
_licences = msgspec.json.Decoder(dict[str, Licence])


async def remember_licence(facts: Facts, source: str, licence: Licence) -> None:
    while True:
        known = await facts.get(_FACT)
        licences = _licences.decode(known) if known else {}
        if licences.get(source) == licence:
            return
        licences[source] = licence
        # Not if another process has remembered another source's licence meanwhile: then we look again.
        if await facts.replace(_FACT, known, msgspec.json.encode(licences).decode()):
            return


async def licences_of(facts: Facts) -> Mapping[str, Licence]:
    """Returns the licences by source."""
    known = await facts.get(_FACT)
    return _licences.decode(known) if known else {}
