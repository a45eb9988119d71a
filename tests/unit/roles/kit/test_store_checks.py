"""What is said about a store that has answered."""

import pytest

from waypost.bootstrap.inspecting import ClockDifference, StoreState
from waypost.roles.kit.store_checks import judge_clock, judge_eviction, judge_schema, judge_store


@pytest.mark.parametrize(
    ("state", "ok", "found"),
    [
        (StoreState(schema=2), True, "schema 2"),
        (StoreState(schema=1, pending=("more",)), False, "schema 1, without more"),
        (StoreState(schema=0, pending=("schema",)), False, "not made yet"),
        (StoreState(schema=0, pending=("schema",), migrates_itself=True), True, "not made yet"),
        (StoreState(), True, "answers"),
    ],
)
def test_only_a_server_waits_for_a_person_to_migrate_it(state: StoreState, ok: bool, found: str) -> None:  # noqa: FBT001 - a table
    finding = judge_schema("store", state)
    assert (finding.ok, finding.found) == (ok, found)


@pytest.mark.parametrize(
    ("ahead", "unsure", "ok"),
    [(0.0, 0.0, True), (4.9, 0.0, True), (-4.9, 0.0, True), (5.1, 0.0, False), (-60.0, 1.0, False), (7.0, 3.0, True)],
)
def test_a_slow_answer_is_no_wrong_clock(ahead: float, unsure: float, ok: bool) -> None:  # noqa: FBT001 - a table
    assert judge_clock("store", ClockDifference(ahead, unsure)).ok is ok


@pytest.mark.parametrize("policies", [("allkeys-lru",), ("volatile-ttl",), ("allkeys-lfu", "noeviction")])
def test_any_server_that_evicts_is_refused(policies: tuple[str, ...]) -> None:
    finding = judge_eviction("Redis", policies)
    assert (finding.ok, finding.needed) == (False, True)


def test_a_policy_that_we_may_not_ask_for_is_a_hint() -> None:
    finding = judge_eviction("Redis", None)
    assert (finding.ok, finding.needed) == (False, False)


def test_a_store_has_a_line_for_each_thing_that_can_be_wrong_with_it() -> None:
    state = StoreState(clock=ClockDifference(0.0, 0.0), eviction=("noeviction",))
    assert [each.name for each in judge_store("jobs", state)] == ["jobs", "clock of the jobs", "eviction at the jobs"]
    assert [each.name for each in judge_store("store", StoreState(schema=1))] == ["store"]
