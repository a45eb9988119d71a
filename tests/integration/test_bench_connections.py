"""`make bench-connections` with fewer connections, which are still more than a process once took."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_bench_finds_nobody_harmed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.connections", "--connections", "1200", "--times", "20"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("bytes each in the process") == 3
