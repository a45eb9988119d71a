"""How many files may be open, and space for what is kept."""

import resource
from pathlib import Path

import pytest

from waypost.roles.kit.machine_checks import check_free_space, judge_open_files


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
