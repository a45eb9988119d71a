"""How many cores we may use, from what the kernel writes into files."""

import os
from pathlib import Path

import pytest

from waypost.kernel.cores import available_cores

MANY = len(os.sched_getaffinity(0))


@pytest.fixture
def membership(tmp_path: Path) -> Path:
    return tmp_path / "membership"


def test_without_control_groups_all_that_we_may_run_on_count(tmp_path: Path, membership: Path) -> None:
    assert available_cores(tmp_path, membership) == MANY


@pytest.mark.parametrize(
    ("written", "cores"),
    [("100000 100000", 1), ("50000 100000", 1), ("max 100000", MANY), ("nonsense", MANY), ("0 0", MANY)],
)
def test_a_quota_is_rounded_up_to_whole_cores(tmp_path: Path, membership: Path, written: str, cores: int) -> None:
    membership.write_text("0::/system.slice/waypost.service\n")
    group = tmp_path / "system.slice" / "waypost.service"
    group.mkdir(parents=True)
    (group / "cpu.max").write_text(written)
    assert available_cores(tmp_path, membership) == cores


def test_a_quota_around_ours_counts_too(tmp_path: Path, membership: Path) -> None:
    membership.write_text("0::/tight/loose\n")
    (tmp_path / "tight" / "loose").mkdir(parents=True)
    (tmp_path / "tight" / "cpu.max").write_text("100000 100000")
    assert available_cores(tmp_path, membership) == 1


def test_the_older_interface_is_understood(tmp_path: Path, membership: Path) -> None:
    membership.write_text("4:memory:/x\n3:cpu,cpuacct:/box\n")
    group = tmp_path / "cpu,cpuacct" / "box"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text("100000\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    assert available_cores(tmp_path, membership) == 1


def test_inside_a_container_the_root_is_our_own_group(tmp_path: Path, membership: Path) -> None:
    membership.write_text("0::/\n")
    (tmp_path / "cpu.max").write_text("100000 100000")
    assert available_cores(tmp_path, membership) == 1
