"""The benchmark of places still runs; what it measures is nobody's business here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_it_compares_waypost_with_the_ceiling_and_with_sqlite() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.places", "--small", "300"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for kind in ("by id", "box of 100", "nearest 10", "text prefix", "tile"):
        assert f"| {kind}: waypost " in done.stdout
        assert f"| {kind}: nginx " in done.stdout
    assert "| box of 100: SQLite " in done.stdout
