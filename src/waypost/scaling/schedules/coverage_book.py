"""Where schedules stand, as the store remembers it: how far each one is covered, and whether it is paused."""

import msgspec

from waypost.scaling.fact_store import Facts
from waypost.scaling.schedules.schedule import Coverage


class Entry(msgspec.Struct, frozen=True):
    """What the store remembers of a schedule, as text and decoded."""

    text: str | None
    coverage: Coverage


class CoverageBook:
    """A fact for each schedule. Several processes write in it, so a change names what it has seen."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def read(self, name: str) -> Entry:
        text = await self._facts.get(_fact(name))
        return Entry(text, msgspec.json.decode(text, type=Coverage) if text else Coverage())

    async def change(self, name: str, seen: Entry, coverage: Coverage) -> bool:
        """Writes the coverage; false when another process has changed the entry since it was read."""
        return await self._facts.replace(_fact(name), seen.text, msgspec.json.encode(coverage).decode())

    async def set_paused(self, name: str, *, paused: bool) -> Coverage:
        while True:
            entry = await self.read(name)
            coverage = msgspec.structs.replace(entry.coverage, paused=paused)
            if coverage == entry.coverage or await self.change(name, entry, coverage):
                return coverage


def group_of(name: str) -> str:
    """The group of jobs that a schedule wants."""
    return f"schedule:{name}"


def _fact(name: str) -> str:
    return f"schedule:{name}"
