"""Whose trouble it is when a provider does not answer."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.importing.outage import Away, Outage

PATIENCE = 6 * 3600.0


def outage(patience: float = PATIENCE) -> Outage:
    return Outage(patience, random.Random(1))


def fail(seen: Outage, shard: str, now: float) -> Away | None:
    """At once: it was asked just before."""
    return seen.failed(shard, asked_at=now - 0.01, now=now)


def test_one_failure_is_nobodys_fault_and_stops_nobody_else() -> None:
    away = fail(outage(), "a", 100)
    assert away is not None
    assert not away.all_wait
    assert 0 < away.retry_in <= 1


def test_while_other_shards_bring_pages_what_fails_again_is_the_shard() -> None:
    seen = outage()
    assert fail(seen, "a", 1)
    seen.brought_a_page("b", 2)
    assert fail(seen, "a", 3) is None
    seen.brought_a_page("b", 4)
    assert fail(seen, "a", 5) is None


def test_its_own_page_clears_a_shard() -> None:
    seen = outage()
    assert fail(seen, "a", 1)
    seen.brought_a_page("a", 2)
    assert fail(seen, "a", 3)


def test_when_nothing_comes_it_is_the_provider_and_probes_grow_apart() -> None:
    seen, now, pauses = outage(), 0.0, []
    for number in range(12):
        away = fail(seen, f"shard {number % 3}", now)
        assert away
        assert away.all_wait == (number > 0)
        pauses.append(away.retry_in)
        now += away.retry_in + 0.1
    assert all(2 ** max(0, n - 1) / 2 <= pause <= 2 ** max(0, n - 1) for n, pause in enumerate(pauses[:7]))
    assert all(30 <= pause <= 60 for pause in pauses[7:])


def test_requests_that_were_under_way_together_are_one_try() -> None:
    seen = outage()
    assert seen.failed("a", asked_at=0, now=10)
    for number, shard in enumerate("bcdefgh"):
        away = seen.failed(shard, asked_at=5, now=10 + number / 100)
        assert away
        assert not away.all_wait


def test_the_only_shard_that_fails_is_at_fault_once_a_small_question_was_answered() -> None:
    seen = outage()
    assert not seen.needs_a_probe("a")
    assert fail(seen, "a", 1)
    for now in range(2, 12, 2):
        assert seen.needs_a_probe("a")
        seen.answered(now)
        assert not seen.needs_a_probe("a")
        assert fail(seen, "a", now + 1) is None


def test_small_answers_do_not_blame_shards_that_all_fail() -> None:
    seen = outage()
    assert fail(seen, "a", 1)
    assert fail(seen, "b", 2)
    for now in range(3, 30, 3):
        seen.answered(now)
        assert fail(seen, "a", now + 1)
        assert fail(seen, "b", now + 2)


def test_everybody_probes_before_asking_while_the_provider_is_away() -> None:
    seen = outage()
    assert fail(seen, "a", 1)
    assert not seen.needs_a_probe("b")
    assert fail(seen, "c", 2)
    assert seen.needs_a_probe("b")
    seen.brought_a_page("b", 3)
    assert not seen.needs_a_probe("a")


def test_patience_is_counted_for_the_provider_and_ends() -> None:
    seen = outage(100)
    assert fail(seen, "a", 0)
    assert fail(seen, "b", 99)
    assert fail(seen, "c", 100) is None
    assert fail(seen, "a", 101) is None
    seen.brought_a_page("d", 102)
    assert fail(seen, "e", 500)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_no_shard_is_blamed_while_nothing_comes_and_waits_are_bounded(events: list[tuple[str, bool]]) -> None:
    """`True` brings a page of the shard."""
    seen, pages = outage(), 0
    failed_with: dict[str, int] = {}
    for now, (shard, brings) in enumerate(events):
        if brings:
            pages += 1
            failed_with.pop(shard, None)
            seen.brought_a_page(shard, now)
            continue
        away = fail(seen, shard, now)
        assert (away is None) == (failed_with.get(shard, pages) < pages)
        assert away is None or away.retry_in <= 60
        failed_with[shard] = pages


@pytest.mark.parametrize("shards", [5000])
def test_only_so_many_failures_are_remembered(shards: int) -> None:
    seen = outage()
    for number in range(shards):
        fail(seen, str(number), number)
    assert len(seen._failed_at) == 1000
