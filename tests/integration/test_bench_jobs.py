"""The benchmark of jobs still runs; what it measures is nobody's business here."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_compares_waypost_with_the_floor() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.jobs", "--small", "300"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "| waypost " in done.stdout
    assert "| floor " in done.stdout
