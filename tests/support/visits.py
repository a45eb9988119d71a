"""Visits for tests, and a plain count of them to compare with."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
from hypothesis import strategies as st

from support.stores import Backend
from waypost.sharing.visits.agents import classify
from waypost.sharing.visits.store import Bucket, Counted, Span, Step
from waypost.sharing.visits.visit import Visit

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
)
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0"
    " Mobile/15E148 Safari/604.1"
)
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"

PROJECTIONS = ("visit_totals", "visit_days", "visit_hours", "visit_values", "visit_visitors", "visit_arrivals")


def visit(number: int, link: str = "link-1", at: datetime = NOON, **more: Any) -> Visit:
    return Visit(id=f"visit-{number}", link_id=link, at=at, **more)


# Any visits


def _after(start: datetime, longest: timedelta) -> st.SearchStrategy[datetime]:
    microseconds = st.integers(0, longest // timedelta(microseconds=1))
    return microseconds.map(lambda number: start + timedelta(microseconds=number))


_BORDER = datetime(2026, 2, 20, tzinfo=UTC)
_MOMENTS = st.one_of(
    _after(_BORDER - timedelta(days=2), timedelta(days=6)),
    _after(_BORDER - timedelta(days=90), timedelta(days=180)),
    # On the borders of hours and days, and a moment beside them.
    st.builds(
        lambda hours, beside: _BORDER + timedelta(hours=hours, microseconds=beside),
        st.integers(0, 72),
        st.integers(-1, 1),
    ),
)
_SPANS = st.builds(Span, st.none() | _MOMENTS, st.none() | _MOMENTS)
_VISITS = st.builds(
    Visit,
    id=st.just(""),
    link_id=st.sampled_from(["a", "b"]),
    at=_MOMENTS,
    visitor=st.sampled_from(["", "ann", "ben", "cat"]),
    referrer_host=st.sampled_from(["", "example.org", "zebra.example", "ü.example"]),
    agent=st.sampled_from(["", CHROME, IPHONE, GOOGLEBOT, "curl/8.0.1"]),
    language=st.sampled_from(["", "de", "pl"]),
    country=st.sampled_from(["", "DE"]),
)


class Case(msgspec.Struct, frozen=True):
    """Visits; all of them in any order and any batches, some again and again; and spans to ask for."""

    made: list[Visit]
    batches: list[list[Visit]]
    spans: list[Span]

    def of(self, example: int) -> "Case":
        """With ids and links of its own, so that one store serves many examples."""

        def own(each: Visit) -> Visit:
            return msgspec.structs.replace(each, id=f"{example}-{each.id}", link_id=f"{example}-{each.link_id}")

        return Case([own(each) for each in self.made], [[own(each) for each in b] for b in self.batches], self.spans)


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    drawn = draw(st.lists(_VISITS, max_size=25))
    made = [msgspec.structs.replace(each, id=str(number)) for number, each in enumerate(drawn)]
    again = draw(st.lists(st.sampled_from(made), max_size=10)) if made else []
    order = draw(st.permutations([*made, *again]))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    batches = [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    return Case(made, batches, draw(st.lists(_SPANS, min_size=1, max_size=4)))


# The plain count


def inside(made: Iterable[Visit], link: str, span: Span) -> list[Visit]:
    return [
        each
        for each in made
        if each.link_id == link
        and (span.start is None or span.start <= each.at)
        and (span.end is None or each.at < span.end)
    ]


def people(made: Iterable[Visit]) -> list[Visit]:
    return [each for each in made if not classify(each.agent).is_bot]


def plain_totals(made: Sequence[Visit]) -> Counted:
    humans = people(made)
    visitors = {(each.at.date(), each.visitor) for each in humans if each.visitor}
    return Counted(len(humans), len(visitors), len(made) - len(humans))


def plain_series(made: Sequence[Visit], step: Step) -> list[Bucket]:
    def bucket(each: Visit) -> datetime:
        hour = each.at.replace(minute=0, second=0, microsecond=0)
        return hour if step == "hour" else hour.replace(hour=0)

    found = {bucket(each): [0, 0] for each in made}
    for each in made:
        found[bucket(each)][classify(each.agent).is_bot] += 1
    return [Bucket(at, *counts) for at, counts in sorted(found.items())]


def plain_top(made: Sequence[Visit], dimension: str) -> list[tuple[str, int]]:
    def value(each: Visit) -> str:
        agent = classify(each.agent)
        known: dict[str, str] = {"browser": agent.browser, "device": agent.device, "system": agent.system}
        return known.get(dimension) or str(getattr(each, {"referrer": "referrer_host"}.get(dimension, dimension), ""))

    return sorted(Counter(map(value, people(made))).items(), key=lambda pair: (-pair[1], pair[0]))


# What only a test may look at


async def ask(backend: Backend, statement: str) -> list[tuple[Any, ...]]:
    """What another program finds in the store; SQLite and PostgreSQL understand the same statement."""
    url = backend.settings.storage.store_url
    if url.startswith("sqlite"):
        with sqlite3.connect(Path(url.removeprefix("sqlite:///"))) as connection:
            found = connection.execute(statement).fetchall()
            connection.commit()
        connection.close()
        return found
    server = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await server.fetch(statement)]
    finally:
        await server.close()


async def projections(backend: Backend) -> dict[str, list[tuple[Any, ...]]]:
    return {table: sorted(await ask(backend, f"select * from {table}")) for table in PROJECTIONS}
