"""A small one of the drills that `make drill-visits` runs: killed and stopped servers, two stores, every visit once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = ("--redirects", "1500", "--rate", "600", "--servers", "2")


@pytest.mark.timeout(200)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_every_answered_redirect_is_counted_once_on(store: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "drills.visits", "--store", store, *SMALL, "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["store"] == store
    assert all(verdict["kept"] for verdict in outcome["verdicts"])
    [counted] = [verdict for verdict in outcome["verdicts"] if verdict["promise"].startswith("every answered redirect")]
    assert counted["figures"]["answered"] >= 1500
