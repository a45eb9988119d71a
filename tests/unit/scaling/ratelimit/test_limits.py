"""Limits as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.scaling.ratelimit.limits import parse_limits, parse_shared_limits


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


def test_a_limit_for_all_keys_together_may_be_missing() -> None:
    assert parse_shared_limits("") == ()
    assert [limit.shared for limit in parse_shared_limits("5/s,100/day")] == [True, True]
