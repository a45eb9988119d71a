"""What a store on a server says about an import that is over: no triggers there, but all that Waypost itself wrote."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec

from waypost.bootstrap.stores import open_stores
from waypost.places.events import PlacesChanged
from waypost.settings import Settings

_MOST_EVENTS = 10_000


class StoreEvidence:
    """The events of the outbox are written with their pages: a page that was committed twice is told of twice, and a
    page that was lost has taken its event with it.
    """

    def __init__(self, settings: Settings, page: int) -> None:
        self._settings = settings
        self._page = page

    def start(self) -> None:
        """Nothing has to be prepared."""

    def pages(self) -> int:
        """How many full pages there are, more or less."""

        async def count() -> int:
            async with open_stores(self._settings) as stores:
                return await stores.places.count()

        return asyncio.run(count()) // self._page

    def check(self, cursors: dict[str, list[str]], places: set[str], *, forgetful: bool = False) -> None:
        assert not forgetful, "what a whole store forgets is gone"
        there, events = asyncio.run(self._read())
        assert there == places
        added = Counter(each.external_id for event in events for each in event.added)
        assert added.keys() == places
        assert set(added.values()) == {1}, "pages were committed more than once"
        assert not [event for event in events if event.changed or event.removed]
        assert {event.shard for event in events} == cursors.keys()

    async def _read(self) -> tuple[set[str], Sequence[PlacesChanged]]:
        async with open_stores(self._settings) as stores:
            there = {place.external_id async for batch in stores.places.scan() for place in batch}
            events = await stores.outbox.waiting(_MOST_EVENTS)
        return there, [msgspec.json.decode(event.data, type=PlacesChanged) for event in events]
