"""A small one of the drills that `make drill-import` runs: bad providers, killed and stopped workers, two stores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = ("--places", "800", "--workers", "3", "--away", "2", "--kill-every", "2.5", "--lease", "2")


# What a busy machine can break; `make drill-import` judges it as well.
TIMED = ("within the budget", "of the pace is used", "is asked again", "no request is wasted")


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
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["store"] == store
    broken = [verdict for verdict in outcome["verdicts"] if not verdict["kept"]]
    assert [each for each in broken if not any(timed in each["promise"] for timed in TIMED)] == [], done.stderr
    [equality, _] = [verdict for verdict in outcome["verdicts"] if "equals the provider" in verdict["promise"]]
    assert equality["figures"]["places"] > 500
