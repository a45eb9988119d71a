"""What the counts of a much visited link take: how quickly visits are kept and counted, and how long questions last."""

import random
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median

from waypost.kernel.ids import new_id
from waypost.sharing.visits.store import Span, VisitStore
from waypost.sharing.visits.visit import Visit

_AT_ONCE = 2_000
_TIMES = 15
_DAYS = 90
_START = datetime(2026, 8, 1, tzinfo=UTC)
_AGENTS = tuple(
    f"Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0"
    for system in ("X11; Linux x86_64", "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10.15", "Android 15")
    for version in range(100, 145)
)
_HOSTS = tuple(f"site{number}.example" for number in range(500))


@dataclass(frozen=True)
class Counting:
    """`per_second` visits were kept and counted; milliseconds by question."""

    visits: int
    per_second: float
    millis: dict[str, float]


async def measure_statistics(store: VisitStore, count: int) -> Counting:
    link = str(new_id())
    seconds = 0.0
    for batch in _batches(link, count):
        began = time.perf_counter()
        await store.append(batch)
        seconds += time.perf_counter() - began
    return Counting(count, count / seconds, {name: await _millis(ask) for name, ask in _questions(store, link).items()})


def _questions(store: VisitStore, link: str) -> dict[str, Callable[[], Awaitable[object]]]:
    everything = Span()
    # From and to somewhere in a day, and in an hour.
    part = Span(_START + timedelta(days=20, hours=7, minutes=17), _START + timedelta(days=60, hours=15, minutes=43))
    return {
        "count": lambda: store.count([link]),
        "totals": lambda: store.totals(link, everything),
        "totals, 40 days": lambda: store.totals(link, part),
        "by hour": lambda: store.series(link, everything, "hour"),
        "by day": lambda: store.series(link, everything, "day"),
        "by day, 40 days": lambda: store.series(link, part, "day"),
        "referrers": lambda: store.top(link, everything, "referrer", 10),
        "referrers, 40 days": lambda: store.top(link, part, "referrer", 10),
        "browsers": lambda: store.top(link, everything, "browser", 10),
    }


async def _millis(ask: Callable[[], Awaitable[object]]) -> float:
    taken = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        await ask()
        taken.append(time.perf_counter() - began)
    return median(taken) * 1000


def _batches(link: str, count: int) -> Iterator[list[Visit]]:
    """In the order of time, as they are shipped; each visitor comes some three times."""
    dice = random.Random(1)  # noqa: S311 - invents visits, guards nothing
    every = timedelta(days=_DAYS) / count
    for first in range(0, count, _AT_ONCE):
        yield [
            Visit(
                id=str(new_id()),
                link_id=link,
                at=_START + number * every,
                visitor=f"{dice.randrange(max(1, count // 3)):022x}",
                referrer_host=_HOSTS[int(dice.random() ** 3 * len(_HOSTS))],
                referrer_path="/a/page",
                agent=dice.choice(_AGENTS),
                language=dice.choice(("en", "pl", "de", "fr")),
                country=dice.choice(("PL", "DE", "GB", "US", "")),
            )
            for number in range(first, min(first + _AT_ONCE, count))
        ]
