"""What the store has of the visits: events, and what was counted from them."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from drills.visits.links import Link
from waypost.bootstrap.stores import open_sharing_stores
from waypost.settings import load_settings
from waypost.sharing.visits.store import DIMENSIONS, Bucket, Counted, Span, VisitStore

_MOST = 1000


class Counts(msgspec.Struct, frozen=True):
    """Of one link, all that can be asked for."""

    visits: int
    totals: Counted
    hours: Sequence[Bucket]
    days: Sequence[Bucket]
    tops: Sequence[tuple[str, Sequence[tuple[str, int]]]]

    @property
    def all(self) -> int:
        """By people and by bots."""
        return self.totals.visits + self.totals.bots


class View:
    def __init__(self, visits: VisitStore, links: Sequence[Link]) -> None:
        self._visits = visits
        self._links = links

    async def counts(self) -> dict[str, Counts]:
        counted = await self._visits.count([link.id for link in self._links])
        return {link.id: await self._of(link.id, counted.get(link.id, 0)) for link in self._links}

    async def _of(self, link: str, visits: int) -> Counts:
        asked = Span()
        return Counts(
            visits,
            await self._visits.totals(link, asked),
            await self._visits.series(link, asked, "hour"),
            await self._visits.series(link, asked, "day"),
            [(name, await self._visits.top(link, asked, name, _MOST)) for name in DIMENSIONS],
        )

    async def events(self) -> dict[str, Counter[str]]:
        """How often each visit's id is there, by link."""
        found: dict[str, Counter[str]] = {}
        for link in self._links:
            found[link.id] = Counter()
            async for visits in self._visits.events(link.id, Span()):
                found[link.id].update(visit.id for visit in visits)
        return found


@asynccontextmanager
async def view(env: dict[str, str], links: Sequence[Link]) -> AsyncIterator[View]:
    async with open_sharing_stores(load_settings(environ=env)) as stores:
        yield View(stores.visits, links)
