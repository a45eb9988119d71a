"""The benchmark of budgets still runs; what it measures is nobody's business here."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_measures_waypost() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.budget", "--small"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "| share of the rate used " in done.stdout
    assert "| waypost " in done.stdout
