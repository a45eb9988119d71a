"""`make flaky`: what failed is listed with how often and by which seed, and nothing is tried again in silence."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TESTS = """
import os, pathlib

def test_that_holds():
    pass

def test_that_fails_the_second_time(tmp_path):
    mark = pathlib.Path(os.environ["MARK"])
    again = mark.exists()
    mark.touch()
    assert not again
"""


def flaky(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_some.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setenv("MARK", str(folder / "mark"))
    monkeypatch.setenv("TMPDIR", str(folder))
    # Two tests need no four processes.
    command = [sys.executable, str(ROOT / "tools" / "flaky.py"), *arguments, "--numprocesses=0"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


def test_what_failed_is_listed_with_how_often_and_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = flaky(tmp_path, monkeypatch, "--runs", "2", "test_some.py")
    assert done.returncode == 1, done.stderr
    _, first, second, failed, where = done.stdout.splitlines()
    assert re.fullmatch(r"run 1 \(alone, seed \d+\): 0 of 2 tests failed, \d+ s", first)
    assert re.fullmatch(r"run 2 \(beside a load, seed \d+\): 1 of 2 tests failed, \d+ s", second)
    assert failed == "failed in 1 of 2: test_some::test_that_fails_the_second_time"
    assert where.strip() == second.partition(":")[0]


def test_without_a_failure_nothing_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = flaky(tmp_path, monkeypatch, "--runs", "1", "test_some.py", "-k", "holds")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stdout


def test_a_run_without_any_test_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = flaky(tmp_path, monkeypatch, "--runs", "1", "test_some.py", "-k", "no_such_test")
    assert done.returncode == 1
    assert "pytest gave up with 5" in done.stdout
