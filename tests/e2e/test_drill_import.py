"""A small one of the drills that `make drill-import` runs: bad providers, killed and stopped workers, two stores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = ("--places", "800", "--workers", "3", "--away", "2", "--kill-every", "2.5", "--lease", "2")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", ["postgres", "sqlite"])
def test_every_promise_of_importing_is_kept_on(store: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "drills.importing", "--store", store, *SMALL, "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["store"] == store
    assert outcome["kept"]
    assert all(verdict["kept"] for verdict in outcome["verdicts"])
    [equality, _] = [verdict for verdict in outcome["verdicts"] if "equals the provider" in verdict["promise"]]
    assert equality["figures"]["places"] > 500
