"""Clocks, ids and backoff: what sorts by time, and how long is waited."""

import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel import ids
from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import from_text, monotonic, to_text, utc_now
from waypost.kernel.ids import new_id

ZONES = st.timedeltas(timedelta(hours=-14), timedelta(hours=14)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=ZONES)  # noqa: DTZ001 - the zone is drawn
# From 1970 on, up to the year 5000.
MILLISECONDS = st.integers(1, 95_617_584_000_000)


@given(MOMENTS)
def test_a_time_survives_being_written_down(moment: datetime) -> None:
    text = to_text(moment)
    assert text.endswith("Z")
    assert from_text(text) == moment
    assert from_text(text).tzinfo is UTC
    assert to_text(from_text(text)) == text


def test_times_are_written_in_utc_whatever_their_zone() -> None:
    moment = datetime(2026, 2, 21, 1, 30, tzinfo=timezone(timedelta(hours=1)))
    assert to_text(moment) == "2026-02-21T00:30:00Z"
    assert from_text("2026-02-21T01:30:00+01:00") == moment


@pytest.mark.parametrize("text", ["2026-02-21T00:00:00", "2026-02-21", "00:00Z", "yesterday", ""])
def test_a_time_that_would_have_to_be_guessed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"has no UTC offset|Invalid isoformat"):
        from_text(text)


def test_the_clock_for_the_books_is_in_utc_and_the_one_for_deadlines_never_steps_back() -> None:
    assert utc_now().utcoffset() == timedelta(0)
    readings = [monotonic() for _ in range(100)]
    assert readings == sorted(readings)


def ids_made_at(moments: list[int]) -> list[uuid.UUID]:
    """The ids of a process whose clock shows these milliseconds, one after the other."""
    clock = iter(moments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "_last_stamp", 0)
        patch.setattr(time, "time_ns", lambda: next(clock) * 1_000_000)
        return [new_id() for _ in moments]


@given(MILLISECONDS)
def test_an_id_is_of_version_7_and_says_its_time(moment: int) -> None:
    (made,) = ids_made_at([moment])
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == moment


@given(st.lists(MILLISECONDS, min_size=2, max_size=20, unique=True))
def test_ids_of_many_processes_sort_by_the_time_they_were_made(moments: list[int]) -> None:
    made = {moment: ids_made_at([moment])[0] for moment in moments}
    assert sorted(made, key=made.__getitem__) == sorted(made, key=lambda moment: str(made[moment])) == sorted(moments)


@given(st.lists(MILLISECONDS, min_size=2, max_size=20))
def test_ids_of_one_process_sort_as_they_were_made_whatever_its_clock_does(moments: list[int]) -> None:
    made = ids_made_at(moments)
    assert all(earlier < later for earlier, later in pairwise(made))


def test_ids_made_at_one_moment_in_many_threads_differ() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = [one for part in threads.map(lambda _: [new_id() for _ in range(500)], range(4)) for one in part]
    assert len(set(made)) == 2000


@given(
    attempt=st.integers(1, 10_000),
    base=st.floats(0.001, 100),
    cap=st.floats(0.001, 86_400),
    seed=st.integers(),
)
def test_a_wait_lies_between_nothing_and_the_bound(attempt: int, base: float, cap: float, seed: int) -> None:
    wait = full_jitter(attempt, base=base, cap=cap, rng=random.Random(seed))
    assert 0 <= wait <= cap
    if attempt <= 60:
        assert wait <= base * 2 ** (attempt - 1)


class Latest(random.Random):
    """Draws the end of the range."""

    def uniform(self, a: float, b: float) -> float:
        return b


def test_the_bound_doubles_up_to_the_cap() -> None:
    assert [full_jitter(attempt, base=1, cap=10, rng=Latest()) for attempt in range(1, 7)] == [1, 2, 4, 8, 10, 10]
