"""The benchmark of imports still runs; what it measures is nobody's business here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_it_compares_waypost_with_the_floor() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.importing", "--small", "300"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "| waypost, PostgreSQL " in done.stdout
    assert "| waypost, SQLite " in done.stdout
    assert "| floor " in done.stdout
