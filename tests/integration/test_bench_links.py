"""The benchmark of links still runs; what it measures is nobody's business here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_it_compares_waypost_with_the_ceiling_and_with_a_plain_shortener() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.links", "--small", "400"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in ("waypost, SQLite", "waypost, PostgreSQL", "nginx", "FastAPI and Redis"):
        assert f"| {name} " in done.stdout
    assert "| a phrase: en " in done.stdout
    assert "| 400 " in done.stdout
