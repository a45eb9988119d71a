"""What is counted from visits: sums and sets only, so that neither order nor batches matter."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from waypost.sharing.visits.agents import classify
from waypost.sharing.visits.spans import DAY_HOURS, HOUR, STRETCH, to_us
from waypost.sharing.visits.visit import Visit

# The lengths in hours of the periods for which visits are counted by value.
_PERIODS = (1, DAY_HOURS, DAY_HOURS * STRETCH)


class TalliedVisit(msgspec.Struct, frozen=True):
    """A visit as it is kept, with what its agent told us then: a later release may read agents differently."""

    visit: Visit
    browser: str
    device: str
    system: str
    is_bot: bool

    def values(self) -> tuple[tuple[str, str], ...]:
        """Its value in each dimension."""
        return (
            ("referrer", self.visit.referrer_host),
            ("browser", self.browser),
            ("device", self.device),
            ("system", self.system),
            ("language", self.visit.language),
            ("country", self.visit.country),
        )


def read_agents(visits: Iterable[Visit]) -> list[TalliedVisit]:
    """Reads the agent of each visit; a visit that is in the batch twice is taken once."""
    each = {visit.id: visit for visit in visits}
    agents = ((visit, classify(visit.agent)) for visit in each.values())
    return [TalliedVisit(visit, agent.browser, agent.device, agent.system, agent.is_bot) for visit, agent in agents]


class VisitTally:
    """Sums events into the rows that a store adds to its own, in the order in which the store keeps them."""

    def __init__(self, events: Iterable[TalliedVisit] = ()) -> None:
        self.events = 0
        self._visits: Counter[tuple[str, int]] = Counter()
        self._bots: Counter[tuple[str, int]] = Counter()
        self._values: Counter[tuple[str, str, int, str]] = Counter()
        self._visitors: defaultdict[tuple[str, int, str], int] = defaultdict(int)
        for event in events:
            self._add(event)

    def _add(self, event: TalliedVisit) -> None:
        self.events += 1
        hour, link = to_us(event.visit.at) // HOUR, event.visit.link_id
        if event.is_bot:
            self._bots[link, hour] += 1
            return
        self._visits[link, hour] += 1
        if event.visit.visitor:
            day, of_day = divmod(hour, DAY_HOURS)
            self._visitors[link, day, event.visit.visitor] |= 1 << of_day
        for dimension, value in event.values():
            # Unknown values have no row: their number is all visits less the known ones.
            if value:
                self._values[link, dimension, hour, value] += 1

    def visitors(self) -> Sequence[tuple[str, int, str, int]]:
        """Link, day, visitor, and the hours of that day in which they were seen, as bits."""
        return [(*key, hours) for key, hours in sorted(self._visitors.items())]

    def hours(self) -> Sequence[tuple[str, int, int, int]]:
        """Link, hour, visits, bots."""
        return [(*key, self._visits[key], self._bots[key]) for key in sorted(self._visits.keys() | self._bots.keys())]

    def days(self, visitors: Mapping[tuple[str, int], int]) -> Sequence[tuple[str, int, int, int, int]]:
        """Link, day, visits, visitors, bots. `visitors` comes from the store: how many of a link and day are new."""
        days: defaultdict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
        for link, hour, visits, bots in self.hours():
            counted = days[link, hour // DAY_HOURS]
            counted[0] += visits
            counted[1] += bots
        return [(*key, visits, visitors.get(key, 0), bots) for key, (visits, bots) in days.items()]

    def values(self) -> Sequence[tuple[str, str, int, int, str, int]]:
        """Link, dimension, hours in the period, the period's number, value, visits."""
        counted: defaultdict[tuple[str, str, int, int, str], int] = defaultdict(int)
        for (link, dimension, hour, value), visits in sorted(self._values.items()):
            for length in _PERIODS:
                counted[link, dimension, length, hour // length, value] += visits
        return [(*key, visits) for key, visits in counted.items()]


def totals(days: Iterable[tuple[str, int, int, int, int]]) -> Sequence[tuple[str, int, int, int]]:
    """Link, visits, visitors, bots."""
    summed: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for link, _, *counts in days:
        for at, count in enumerate(counts):
            summed[link][at] += count
    return [(link, visits, visitors, bots) for link, (visits, visitors, bots) in sorted(summed.items())]
