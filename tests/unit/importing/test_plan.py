"""Plans: they cover their scope, do not overlap, are the same each time, and can be scheduled in any order."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.memory_jobs import MemoryJobStore
from waypost.importing.geography import Box, Cell
from waypost.importing.plan import MOST_SHARDS, UnsupportedScope, describe, shards_of
from waypost.importing.scope import read_scope
from waypost.importing.source import BadScope, PlanAxis, Scope
from waypost.importing.windows import GRIDS, Window
from waypost.kernel.errors import AskedWrongly
from waypost.places.countries import NAMES
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.ratelimit.limits import parse_limits

ALL: frozenset[PlanAxis] = frozenset({"country", "box", "window"})
DAY, IMPORT = date(2026, 2, 21), "019c7f7e-0000-7000-8000-000000000000"
NOW = datetime(2026, 2, 21, 10, 37, tzinfo=UTC)

countries = st.lists(st.sampled_from(sorted(NAMES)), min_size=1, max_size=4, unique=True).map(tuple)
latitudes = st.tuples(st.floats(-90, 90), st.floats(-90, 90)).map(sorted)
boxes = st.builds(
    lambda west, lats, east: Box(west, lats[0], east, lats[1]), st.floats(-180, 180), latitudes, st.floats(-180, 180)
)
areas = st.one_of(
    countries.map(lambda codes: {"countries": codes}),
    boxes.map(lambda box: {"bbox": box}),
)
times = st.tuples(
    st.datetimes(datetime(2020, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - it gets a zone
    st.timedeltas(timedelta(microseconds=1), timedelta(days=40)),
    st.sampled_from(GRIDS),
).map(lambda drawn: {"since": drawn[0], "until": drawn[0] + drawn[1], "window": drawn[2]})
periods: st.SearchStrategy[dict[str, Any]] = st.one_of(st.just({}), st.just({"refresh": True}), times)
scopes = st.tuples(areas, periods).map(lambda drawn: Scope(**drawn[0], **drawn[1]))
# Weeks of hours in many cells are thousands of keys; how long that takes is no law of theirs.
unhurried = settings(deadline=None, max_examples=50)


def plan(scope: Scope, plans: frozenset[PlanAxis] = ALL) -> list[ShardKey]:
    return shards_of(scope, DAY, IMPORT, source="other", plans=plans)


def overlap(one: ShardKey, other: ShardKey) -> bool:
    """Whether a place that changed at some time could be in both."""
    if "box" in one.axes:
        cells = sorted((Cell.parse(one["box"]).path, Cell.parse(other["box"]).path))
        same_area = cells[1].startswith(cells[0])
    else:
        same_area = one["country"] == other["country"]
    if "window" not in one.axes:
        return same_area
    a, b = Window.parse(one["window"]), Window.parse(other["window"])
    return same_area and a.start < b.end and b.start < a.end


@unhurried
@given(scopes)
def test_the_same_plan_twice_gives_the_same_keys_and_each_can_be_read_again(scope: Scope) -> None:
    keys = plan(scope)
    assert keys == plan(scope)
    assert [ShardKey.parse(str(key)) for key in keys] == keys
    assert len(set(keys)) == len(keys)


@unhurried
@given(scopes, st.randoms(use_true_random=False))
def test_no_two_shards_of_a_plan_overlap(scope: Scope, rng: Any) -> None:
    keys = plan(scope)
    some = rng.sample(keys, min(40, len(keys)))
    assert not any(overlap(one, other) for one in some for other in some if one is not other)


@unhurried
@given(areas, times, st.floats(0, 1, exclude_max=True))
def test_every_area_has_every_instant_once(area: dict[str, Any], time: dict[str, Any], where: float) -> None:
    keys = plan(Scope(**area, **time))
    whole = {key.parts[0] for key in plan(Scope(**area))}
    moment = min(time["since"] + (time["until"] - time["since"]) * where, time["until"] - timedelta(microseconds=1))
    holding = [key.parts[0] for key in keys if moment in Window.parse(key["window"])]
    assert len(holding) == len(whole)
    assert set(holding) == whole


@unhurried
@given(countries, st.randoms(use_true_random=False))
def test_the_order_of_countries_does_not_change_which_shards_there_are(codes: tuple[str, ...], rng: Any) -> None:
    shuffled = tuple(rng.sample(codes, len(codes)))
    assert set(plan(Scope(codes))) == set(plan(Scope(shuffled)))


@unhurried
@given(scopes, st.randoms(use_true_random=False))
def test_scheduling_in_any_order_and_any_number_of_times_adds_each_shard_once(scope: Scope, rng: Any) -> None:
    jobs = [NewJob(str(key)) for key in plan(scope)][:200]

    async def schedule() -> tuple[int, set[str], list[int]]:
        store = MemoryJobStore()
        added = await store.enqueue(jobs, group="one")
        again = [await store.enqueue(rng.sample(jobs, len(jobs)), group=group) for group in ("one", "two")]
        return added, {job.shard for job in await store.list(limit=1000)}, again

    added, shards, again = asyncio.run(schedule())
    assert (added, again) == (len(jobs), [0, 0])
    assert shards == {job.shard for job in jobs}


def test_keys_are_as_settled() -> None:
    hour: dict[str, Any] = {"since": datetime(2026, 2, 21, tzinfo=UTC), "until": datetime(2026, 2, 21, 1, tzinfo=UTC)}
    window = "window:2026-02-21T00:00:00Z..2026-02-21T01:00:00Z"
    box = Box(1, 50, 1, 50)
    assert [
        str(plan(scope)[0])
        for scope in (
            Scope(("DE",)),
            Scope(("DE",), refresh=True),
            Scope(("DE",), **hour),
            Scope(bbox=box),
            Scope(bbox=box, **hour),
        )
    ] == [
        "other/country:DE/full:2026-02-21",
        f"other/country:DE/refresh:{IMPORT}",
        f"other/country:DE/{window}",
        "other/box:q1022200032/full:2026-02-21",
        f"other/box:q1022200032/{window}",
    ]


def test_another_day_and_another_import_bring_new_keys() -> None:
    full, refresh = Scope(("DE",)), Scope(("DE",), refresh=True)
    for scope in (full, refresh):
        tomorrow = shards_of(scope, date(2026, 2, 22), "another", source="other", plans=ALL)
        assert not set(tomorrow) & set(plan(scope))


@pytest.mark.parametrize(
    ("scope", "plans", "message"),
    [
        (Scope(bbox=Box(1, 2, 3, 4)), {"country", "window"}, "cannot import by box; use --country instead of --bbox"),
        (Scope(("DE",)), {"box"}, "cannot import by country; use --bbox instead of --country"),
        (Scope(("DE",), None, NOW, NOW + timedelta(1)), {"country"}, "cannot import by window; leave --since out"),
    ],
)
def test_what_a_source_cannot_plan_is_refused(scope: Scope, plans: set[PlanAxis], message: str) -> None:
    with pytest.raises(UnsupportedScope, match=message) as refusal:
        plan(scope, frozenset(plans))
    assert (refusal.value.slug, refusal.value.exit_code) == ("unsupported-scope", 2)


def test_a_plan_of_too_many_shards_is_refused_before_it_is_made() -> None:
    ages = Scope(("DE",), since=datetime(1, 1, 1, tzinfo=UTC), until=NOW, window="1h")
    with pytest.raises(BadScope, match=f"more than {MOST_SHARDS} shards"):
        plan(ages)


@pytest.mark.parametrize(
    ("limits", "seconds"), [("2/s", 1.5), ("1000/s", 0.0), ("2/s,1/min", 180.0), ("10/s,100/day", 0.3)]
)
def test_an_estimate_counts_the_check_and_one_request_a_shard_at_the_slowest_limit(limits: str, seconds: float) -> None:
    described = describe("other", plan(Scope(("DE", "FR", "NL"))), parse_limits(limits))
    assert (described.count, described.requests, described.seconds) == (3, 4, seconds)
    assert described.shards[0] == "other/country:DE/full:2026-02-21"


def test_time_without_an_end_goes_up_to_the_last_whole_hour() -> None:
    scope = read_scope(now=NOW, country="DE", since="2026-02-21T09:30:00+01:00")
    assert (scope.since, scope.until) == (
        datetime(2026, 2, 21, 8, 30, tzinfo=UTC),
        datetime(2026, 2, 21, 10, tzinfo=UTC),
    )
    assert [key["window"][11:16] for key in plan(scope)] == ["08:00", "09:00"]


def test_what_is_written_is_read() -> None:
    since, until = "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"
    assert read_scope(now=NOW, country="de,FR") == Scope(("DE", "FR"))
    assert read_scope(now=NOW, country="DE", refresh=True) == Scope(("DE",), refresh=True)
    assert read_scope(now=NOW, bbox="1,2,3,4") == Scope(bbox=Box(1, 2, 3, 4))
    assert read_scope(now=NOW, country="DE", since=since, until=until, window="1d") == Scope(
        ("DE",), None, datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC), "1d"
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"country": "DE", "bbox": "1,2,3,4"}, "either countries or a box"),
        ({"country": "DE", "since": "yesterday"}, "'yesterday' is not a time with a UTC offset"),
        ({"country": "DE", "since": "2026-02-30T00:00:00Z"}, "is not a time with a UTC offset"),
        ({"country": "DE", "since": "2026-02-20T00:00:00"}, "is not a time with a UTC offset"),
        ({"country": "DE", "since": "2026-02-20"}, "is not a time with a UTC offset"),
        ({"country": "DE", "since": "0001-01-01T00:00:00+14:00"}, "is not a time with a UTC offset"),
        ({"country": "DE", "since": "2026-02-20T00:00:00Z", "until": "now"}, "--until: 'now' is not a time"),
        ({"country": "DE", "until": "2026-02-20T00:00:00Z"}, "--until needs --since"),
        ({"country": "DE", "window": "1h"}, "--window needs --since"),
        ({"country": "DE", "since": "2026-02-20T00:00:00Z", "window": "2h"}, "choose one of 1h, 1d, 1mo"),
        ({"country": "DE", "since": "2026-02-20T00:00:00Z", "until": "2026-02-19T00:00:00Z"}, "ends before it starts"),
        ({"country": "DE", "since": "2026-02-20T00:00:00Z", "until": "2026-02-20T00:00:00Z"}, "ends before it starts"),
        ({"country": "DE", "since": "2026-02-21T10:00:00Z"}, "no hour has ended since"),
        ({"country": "DE", "since": "2026-02-20T00:00:00Z", "until": "2026-02-21T10:30:00Z"}, "has not ended yet"),
        ({"country": "DE", "since": "2026-02-20T00:00:00Z", "until": "9999-12-31T23:59:59Z"}, "has not ended yet"),
        ({"country": "DE", "since": "2026-02-20T00:00:00Z", "refresh": True}, "choose one"),
        ({"country": "XX"}, "is not a country code"),
        ({"bbox": "1,2,3"}, "four numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(AskedWrongly, match=message) as refusal:
        read_scope(now=NOW, **asked)
    assert refusal.value.exit_code == 2
    assert refusal.value.parameter


def test_a_scope_made_in_code_needs_both_ends_of_its_time() -> None:
    with pytest.raises(BadScope, match="--since needs --until"):
        Scope(("DE",), since=NOW)


def test_a_refresh_belongs_to_an_import() -> None:
    with pytest.raises(ValueError, match="belongs to an import"):
        shards_of(Scope(("DE",), refresh=True), DAY, None, source="other", plans=ALL)
