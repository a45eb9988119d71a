"""Errors of all kinds as findings."""

import resource
from pathlib import Path

import pytest

from waypost.bootstrap.schema import ClockDifference, StoreState
from waypost.kernel.errors import AskedWrongly, StoreTrouble
from waypost.roles.kit.doctor_checks import (
    check_free_space,
    judge_clock,
    judge_eviction,
    judge_open_files,
    judge_schema,
    judge_store,
    trouble,
)


@pytest.mark.parametrize(
    ("error", "found", "advice"),
    [
        (StoreTrouble("it is away", next_step="see WAYPOST_STORE"), "it is away", "ours"),
        (AskedWrongly("not a URL", next_step="write it so"), "not a URL", "write it so"),
        (AskedWrongly("not a URL"), "not a URL", "ours"),
        (PermissionError(13, "Permission denied", "/root"), "Permission denied", "ours"),
        (KeyError("name"), "a defect in Waypost: KeyError: 'name'", "ours"),
        (StoreTrouble("redis://app:secret@host/0 is away"), "redis://app:***@host/0 is away", "ours"),
    ],
)
def test_an_error_becomes_a_finding_that_has_to_be_seen_to(error: Exception, found: str, advice: str) -> None:
    finding = trouble("store", error, "ours")
    assert (finding.name, finding.ok, finding.needed) == ("store", False, True)
    assert (finding.found, finding.advice) == (found, advice)


@pytest.mark.parametrize(
    ("most", "ok", "needed"),
    [(256, False, True), (1023, False, True), (1024, False, False), (4096, True, False), (1_000_000, True, False)],
)
def test_few_open_files_are_a_failure_and_some_more_a_hint(most: int, ok: bool, needed: bool) -> None:  # noqa: FBT001 - a table
    finding = judge_open_files(most, 4096)
    assert (finding.ok, finding.needed) == (ok, needed)


def test_no_limit_of_open_files_is_enough() -> None:
    finding = judge_open_files(resource.RLIM_INFINITY, 4096)
    assert (finding.ok, finding.found) == (True, "unlimited")


def test_a_folder_that_is_not_there_yet_is_judged_by_the_disk_that_it_would_be_on(tmp_path: Path) -> None:
    finding = check_free_space("free disk space", tmp_path / "not" / "yet")
    assert finding.found.endswith("MiB")


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
