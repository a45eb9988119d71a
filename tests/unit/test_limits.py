"""Limits on a simulated clock: no window of any length ever sees more than it may."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.scaling.ratelimit.limits import Limit, parse_limits, reserve

SLACK = 1e-5
START = 1000.0

SHORT = st.builds(Limit, st.integers(1, 200), st.sampled_from([1.0, 10.0, 60.0]), st.just("short"))
LONG = st.builds(Limit, st.integers(1, 300), st.sampled_from([61.0, 3600.0, 86_400.0]), st.just("long"))
LIMITS = st.lists(SHORT | LONG, min_size=1, max_size=3)
# Callers who come at once, a little later, or after a long silence.
GAPS = st.lists(st.sampled_from([0.0]) | st.floats(0, 2) | st.floats(0, 100_000), min_size=1, max_size=150)

Grant = tuple[float, int]


def grants(
    limits: Sequence[Limit], gaps: Sequence[float], *, costs: Sequence[int] = (), penalties: Sequence[float] = ()
) -> list[Grant]:
    """When each caller goes, and what it takes, with callers coming one after the other."""
    arrivals: tuple[float, ...] = (0.0,) * len(limits)
    granted: list[Grant] = []
    not_before = 0.0
    for at, now in enumerate(accumulate(gaps, initial=START)):
        cost = costs[at % len(costs)] if costs else 1
        # A shorter penalty does not end a longer one.
        not_before = max(not_before, now + penalties[at % len(penalties)]) if penalties else 0.0
        taken = reserve(limits, arrivals, now=now, not_before=not_before, cost=cost)
        assert taken.at >= max(now, not_before)
        granted.append((taken.at, cost))
        arrivals = taken.arrivals
    return granted


def assert_within(limit: Limit, granted: Sequence[Grant], slack: float = SLACK) -> None:
    """Every window that starts and ends with a grant; all others see no more than one of these."""
    for first, (start, _) in enumerate(granted):
        taken = 0
        for end, cost in granted[first:]:
            taken += cost
            assert taken <= (end - start) * limit.rate + limit.burst + slack


@given(LIMITS, GAPS)
def test_no_window_of_any_length_sees_more_than_rate_times_length_and_the_burst(
    limits: list[Limit], gaps: list[float]
) -> None:
    granted = grants(limits, gaps)
    for limit in limits:
        assert_within(limit, granted)


@given(LIMITS, GAPS, st.lists(st.floats(0, 1000), min_size=1, max_size=5))
def test_penalties_do_not_open_a_way_around_the_limits(
    limits: list[Limit], gaps: list[float], penalties: list[float]
) -> None:
    granted = grants(limits, gaps, penalties=penalties)
    for limit in limits:
        assert_within(limit, granted)


@given(LIMITS, GAPS)
def test_callers_are_served_in_the_order_they_came(limits: list[Limit], gaps: list[float]) -> None:
    assert all(earlier <= later for (earlier, _), (later, _) in pairwise(grants(limits, gaps)))


@given(LONG, GAPS)
def test_a_long_limit_never_gives_more_than_its_count_in_any_period(limit: Limit, gaps: list[float]) -> None:
    moments = [at for at, _ in grants([limit], [0.0] * (3 * limit.count) + gaps)]
    for first, start in enumerate(moments):
        within = [at for at in moments[first:] if at - start < limit.period - SLACK]
        assert len(within) <= limit.count


@given(LONG, st.data())
def test_requests_that_cost_more_than_one_stay_within_the_burst_too(limit: Limit, data: st.DataObject) -> None:
    costs = data.draw(st.lists(st.integers(1, limit.burst), min_size=1, max_size=20))
    assert_within(limit, grants([limit], [0.0] * 40, costs=costs))


@given(SHORT, st.integers(2, 50))
def test_a_short_limit_is_spaced_evenly(limit: Limit, callers: int) -> None:
    moments = [at for at, _ in grants([limit], [0.0] * (callers - 1))]
    assert [later - earlier for earlier, later in pairwise(moments)] == pytest.approx(
        [limit.period / limit.count] * (callers - 1), abs=SLACK
    )


@given(LIMITS)
def test_whoever_comes_after_a_long_silence_goes_at_once(limits: list[Limit]) -> None:
    (first, _), (second, _) = grants(limits, [200_000.0])
    assert second == first + 200_000.0


@given(LIMITS, GAPS)
def test_together_they_are_as_slow_as_the_slowest_and_no_slower(limits: list[Limit], gaps: list[float]) -> None:
    """At least one limit explains each wait: a caller who waits could not have gone earlier."""
    arrivals: tuple[float, ...] = (0.0,) * len(limits)
    for now in accumulate(gaps, initial=START):
        alone = [reserve([limit], [arrival], now=now).at for limit, arrival in zip(limits, arrivals, strict=True)]
        taken = reserve(limits, arrivals, now=now)
        assert taken.at == max(alone)
        arrivals = taken.arrivals


@pytest.mark.parametrize(
    ("text", "count", "period", "burst"),
    [
        ("5/s", 5, 1, 1),
        ("100/min", 100, 60, 1),
        ("1000/hour", 1000, 3600, 10),
        ("50/h", 50, 3600, 5),
        ("1/day", 1, 86_400, 1),
        (" 10 / 30 s ", 10, 30, 1),
    ],
)
def test_a_limit_is_read_as_people_write_it(text: str, count: int, period: float, burst: int) -> None:
    (limit,) = parse_limits(text)
    assert (limit.count, limit.period, limit.burst) == (count, period, burst)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 10**9 - 1), st.sampled_from(["", "2", "30"]), st.sampled_from(["s", "min", "h", "day"])
        ),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_limits_survive_being_written_by_their_names(parts: list[tuple[int, str, str]]) -> None:
    limits = parse_limits(", ".join(f"{count} / {number}{unit}" for count, number, unit in parts))
    assert [limit.count for limit in limits] == [count for count, _, _ in parts]
    assert parse_limits(",".join(limit.name for limit in limits)) == limits


@pytest.mark.parametrize("text", ["", "5", "/s", "0/s", "5/0s", "5/00s", "5/week", "-5/s", "1.5/s", "5/s,", "5/s 3/m"])
def test_what_is_no_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a limit; write it like 5/s"):
        parse_limits(text)


def test_one_limit_cannot_be_named_twice() -> None:
    with pytest.raises(ValueError, match="names one limit twice"):
        parse_limits("5/s, 5 / s")
