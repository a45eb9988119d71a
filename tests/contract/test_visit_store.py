"""What every store of visits does: keep each once, and answer any question about them as a plain count would."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from support.stores import LINK_BACKENDS, Backend, open_backend
from support.visits import (
    CHROME,
    GOOGLEBOT,
    IPHONE,
    NOON,
    Case,
    ask,
    cases,
    inside,
    plain_series,
    plain_top,
    plain_totals,
    projections,
    visit,
)
from waypost.sharing.visits.store import DIMENSIONS, Bucket, Counted, Span, VisitsRefused, VisitStore
from waypost.sharing.visits.visit import Visit

pytestmark = pytest.mark.anyio

ALL = Span()
DAY = timedelta(days=1)
_examples = itertools.count()


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def store(backend: Backend) -> VisitStore:
    return backend.sharing.visits


async def rebuild(store: VisitStore) -> int:
    return await store.rebuild(lambda _: None)


async def all_events(store: VisitStore, link: str, span: Span = ALL) -> list[Visit]:
    return [each async for batch in store.events(link, span) for each in batch]


async def check(store: VisitStore, made: list[Visit], span: Span) -> None:
    """Every answer about a link is the plain count's."""
    for link in {each.link_id for each in made}:
        wanted = inside(made, link, span)
        assert await store.totals(link, span) == plain_totals(wanted)
        assert await store.series(link, span, "hour") == plain_series(wanted, "hour")
        assert await store.series(link, span, "day") == plain_series(wanted, "day")
        for dimension in DIMENSIONS:
            assert await store.top(link, span, dimension, 100) == plain_top(wanted, dimension), dimension
        assert await all_events(store, link, span) == sorted(wanted, key=lambda each: (each.at, each.id))


# Each once


async def test_a_visit_that_is_shipped_twice_counts_once(store: VisitStore) -> None:
    shipped = [visit(number) for number in range(3)]
    assert await store.append(shipped) == 3
    assert await store.append([*shipped[1:], visit(9, "link-2"), visit(9, "link-2")]) == 1
    assert await store.append([]) == 0
    assert await store.count(["link-1", "link-2", "nobody"]) == {"link-1": 3, "link-2": 1}
    assert await store.count([]) == {}


async def test_shippers_with_the_same_batches_count_once_and_never_wait_for_each_other_for_ever(
    backend: Backend,
) -> None:
    made = [visit(number, f"link-{number % 7}", visitor=f"{number % 5}", agent=CHROME) for number in range(300)]

    async def ship(seed: int) -> int:
        order = random.Random(seed).sample(made, len(made))
        async with backend.open_sharing_again() as other:
            return sum([await other.visits.append(order[start : start + 60]) for start in range(0, len(made), 60)])

    assert sum(await asyncio.gather(*map(ship, range(6)))) == 300
    await check(backend.sharing.visits, made, ALL)


async def test_a_visit_comes_back_as_it_was_kept(store: VisitStore) -> None:
    kept = Visit("id", "link", NOON, "hash", "example.org", "/a/page", CHROME, "de", "DE")
    await store.append([kept])
    assert await all_events(store, "link") == [kept]


async def test_a_character_that_a_store_cannot_hold_does_not_stop_the_others(store: VisitStore) -> None:
    assert await store.append([visit(1, referrer_path="/\0"), visit(2)]) == 2


async def test_a_batch_with_a_visit_that_the_store_cannot_hold_is_refused_as_a_whole(store: VisitStore) -> None:
    with pytest.raises(VisitsRefused):
        await store.append([visit(1), visit(2, language="\ud800"), visit(3)])
    assert await store.count(["link-1"]) == {}
    assert await store.append([visit(1), visit(3)]) == 2


# What is counted


async def test_bots_are_counted_apart_and_whoever_comes_again_is_one_visitor_a_day(store: VisitStore) -> None:
    await store.append(
        [
            visit(1, visitor="ann", agent=CHROME),
            visit(2, visitor="ann", agent=CHROME),
            visit(3, visitor="ann", agent=CHROME, at=NOON + DAY),
            visit(4, visitor="ben", agent=IPHONE),
            visit(5, visitor="bot", agent=GOOGLEBOT),
            # Asked not to be tracked: counted, and nothing else is known.
            visit(6),
        ]
    )
    assert await store.totals("link-1", ALL) == Counted(visits=5, visitors=3, bots=1)
    assert await store.count(["link-1"]) == {"link-1": 5}
    assert await store.top("link-1", ALL, "device", 5) == [("desktop", 3), ("", 1), ("phone", 1)]
    midnight = NOON.replace(hour=0)
    assert await store.series("link-1", ALL, "day") == [Bucket(midnight, 4, 1), Bucket(midnight + DAY, 1, 0)]


async def test_only_the_first_of_many_values_are_listed(store: VisitStore) -> None:
    hosts = [f"{name}.example" for name in "abcdef" for _ in range(ord(name) - 90)]
    await store.append([visit(number, referrer_host=host) for number, host in enumerate(hosts)])
    assert await store.top("link-1", ALL, "referrer", 2) == [("f.example", 12), ("e.example", 11)]


async def test_a_link_that_nobody_followed_has_nothing(store: VisitStore) -> None:
    assert await store.totals("nobody", ALL) == Counted()
    assert await store.series("nobody", ALL, "hour") == []
    assert await store.top("nobody", ALL, "browser", 10) == []
    assert await all_events(store, "nobody") == []


async def test_events_come_oldest_first_however_many_there_are(store: VisitStore) -> None:
    made = [visit(number, at=NOON + timedelta(seconds=number % 50)) for number in range(2500)]
    await store.append(made)
    assert await all_events(store, "link-1") == sorted(made, key=lambda each: (each.at, each.id))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(case=cases())
async def test_any_visits_in_any_order_and_any_batches_are_counted_as_a_plain_count_does(
    store: VisitStore, case: Case
) -> None:
    case = case.of(next(_examples))
    for batch in case.batches:
        await store.append(batch)
    for span in (ALL, *case.spans):
        await check(store, case.made, span)


# Counting again


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(case=cases())
async def test_counting_again_gives_equal_projections(backend: Backend, case: Case) -> None:
    for batch in case.of(next(_examples)).batches:
        await backend.sharing.visits.append(batch)
    before = await projections(backend)
    await rebuild(backend.sharing.visits)
    assert await projections(backend) == before


async def a_mixed_year(store: VisitStore) -> list[Visit]:
    """Visits on many days, of several links."""
    agents, hosts = ["", CHROME, IPHONE, GOOGLEBOT], ["", "example.org", "example.net"]
    made = [
        visit(
            number,
            f"link-{number % 3}",
            datetime(2025, 6, 1, tzinfo=UTC) + number * timedelta(hours=7, minutes=11),
            visitor=f"{number % 4}",
            agent=agents[number % 4],
            referrer_host=hosts[number % 3],
        )
        for number in range(1200)
    ]
    await store.append(made)
    return made


async def test_counting_again_heals_what_was_damaged_and_tells_how_far_it_is(backend: Backend) -> None:
    store = backend.sharing.visits
    made = await a_mixed_year(store)
    before = await projections(backend)
    for damage in (
        "delete from visit_days where day % 3 = 0",
        "update visit_hours set visits = visits + 1",
        "delete from visit_values where hours = 768",
        "update visit_arrivals set visitors = visitors + 1 where hour % 5 = 0",
        "delete from visit_totals where link_id = 'link-1'",
        "insert into visit_days values ('link-0', 1, 5, 5, 5), ('link-0', 40000, 5, 5, 5)",
        "insert into visit_values values ('link-0', 'browser', 24, 1, 'Invented', 5)",
    ):
        await ask(backend, damage)
    told: list[int] = []
    assert await store.rebuild(told.append) == len(made)
    assert await projections(backend) == before
    assert told == sorted(told)
    assert (told[0] < told[-1], told[-1]) == (True, len(made))


async def test_counting_again_a_few_at_a_time_is_the_same(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("sqlite", "postgres"):
        monkeypatch.setattr(f"waypost.adapters.{kind}.visits.COUNTED_AT_A_TIME", 7)
    made = await a_mixed_year(backend.sharing.visits)
    late = [visit(5000 + number, at=NOON, visitor=f"{number % 9}", agent=CHROME) for number in range(30)]
    await backend.sharing.visits.append(late)
    before = await projections(backend)
    await ask(backend, "delete from visit_values where hours = 768")
    told: list[int] = []
    assert await backend.sharing.visits.rebuild(told.append) == len(made) + len(late)
    assert await projections(backend) == before
    assert len(told) > 100


async def test_counting_goes_on_while_others_count_again(backend: Backend) -> None:
    store = backend.sharing.visits
    made = await a_mixed_year(store)
    late = [visit(5000 + number, f"link-{number % 5}", made[number].at, agent=CHROME) for number in range(400)]
    done = asyncio.Event()

    async def count_again() -> None:
        async with backend.open_sharing_again() as other:
            while not done.is_set():
                await rebuild(other.visits)

    async def ship() -> None:
        async with backend.open_sharing_again() as other:
            for start in range(0, len(late), 20):
                await other.visits.append(late[start : start + 20])
        done.set()

    await asyncio.gather(count_again(), ship())
    await check(store, made + late, ALL)
    before = await projections(backend)
    await rebuild(store)
    assert await projections(backend) == before


# Forgetting


async def test_what_is_forgotten_stays_counted_also_when_all_is_counted_again(backend: Backend) -> None:
    store = backend.sharing.visits
    made = await a_mixed_year(store)
    before = await projections(backend)
    border = datetime(2025, 10, 7, 15, 30, tzinfo=UTC)
    old = [each for each in made if each.at < border]
    assert await store.forget(border, 100) == 100
    assert await store.forget(border, 10_000) == len(old) - 100
    assert await store.forget(border, 10_000) == 0
    links = {each.link_id for each in made}
    kept = [each for link in links for each in await all_events(store, link)]
    assert sorted(each.id for each in kept) == sorted(each.id for each in made if each.at >= border)
    for link in links:
        assert await store.totals(link, ALL) == plain_totals(inside(made, link, ALL))
    await ask(backend, "update visit_hours set visits = 77 where hour > 490000")
    await rebuild(store)
    after = await projections(backend)
    assert {table: rows for table, rows in after.items() if table != "visit_visitors"} == {
        table: rows for table, rows in before.items() if table != "visit_visitors"
    }


async def test_whole_hours_that_are_forgotten_can_still_be_asked_for(store: VisitStore) -> None:
    made = await a_mixed_year(store)
    await store.forget(datetime(2025, 10, 7, 15, 30, tzinfo=UTC), 10_000)
    span = Span(datetime(2025, 6, 20, 5, tzinfo=UTC), datetime(2025, 9, 30, 17, tzinfo=UTC))
    wanted = inside(made, "link-1", span)
    assert await store.totals("link-1", span) == plain_totals(wanted)
    assert await store.top("link-1", span, "referrer", 9) == plain_top(wanted, "referrer")
    assert await store.series("link-1", span, "hour") == plain_series(wanted, "hour")


async def test_a_late_visit_of_a_forgotten_day_is_counted_and_stays(store: VisitStore) -> None:
    await store.append([visit(1, visitor="ann", agent=CHROME)])
    await store.forget(NOON + 2 * DAY, 10)
    await store.append([visit(2, visitor="ben", agent=CHROME)])
    await store.forget(NOON + 2 * DAY, 10)
    await rebuild(store)
    assert await store.totals("link-1", ALL) == Counted(2, 2, 0)


async def test_forgetting_and_counting_again_at_once_lose_nothing(backend: Backend) -> None:
    store = backend.sharing.visits
    made = await a_mixed_year(store)

    async def forget() -> None:
        async with backend.open_sharing_again() as other:
            border = made[0].at
            while border < made[-1].at:
                border += 9 * DAY
                await other.visits.forget(border, 1000)

    async with backend.open_sharing_again() as another:
        await asyncio.gather(forget(), rebuild(store), rebuild(another.visits))
    for link in {each.link_id for each in made}:
        assert await store.totals(link, ALL) == plain_totals(inside(made, link, ALL))
        assert await store.top(link, ALL, "browser", 9) == plain_top(inside(made, link, ALL), "browser")
