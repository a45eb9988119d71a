"""What a store knows about the licences of its sources: shown with the places, even when no source is configured."""

from collections.abc import Mapping

import msgspec

from waypost.importing.source import Source
from waypost.places.licence import Licence
from waypost.scaling.store_facts import Facts

_FACT = "licences"
_licences = msgspec.json.Decoder(dict[str, Licence])


async def remember_licence(facts: Facts, source: Source) -> None:
    while True:
        known = await facts.get(_FACT)
        licences = _licences.decode(known) if known else {}
        if licences.get(source.name) == source.licence:
            return
        licences[source.name] = source.licence
        # Not if another process has remembered another source's licence meanwhile: then we look again.
        if await facts.replace(_FACT, known, msgspec.json.encode(licences).decode()):
            return


async def licences_of(facts: Facts) -> Mapping[str, Licence]:
    """Returns the licences by source."""
    known = await facts.get(_FACT)
    return _licences.decode(known) if known else {}
