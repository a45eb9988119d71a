"""The benchmark of imports still runs; what it measures is nobody's business here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(300)
def test_it_compares_waypost_with_the_floor() -> None:
    said = bench("bench.importing", "--small", "300")
    assert "| waypost, PostgreSQL " in said
    assert "| waypost, SQLite " in said
    assert "| floor " in said


@pytest.mark.timeout(300)
def test_it_imports_a_large_file_again_and_again() -> None:
    said = bench("bench.importing.large", "--store", "sqlite", "--places", "300")
    assert "refresh, half of it gone" in said
    assert "| 0 | 150 | 150 |" in said
