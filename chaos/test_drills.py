"""Many seeds of each drill: `make chaos`, with SEEDS for how many and FIRST_SEED for where they begin."""

import os
from pathlib import Path

import pytest

from support.chaos.drills import CASES, Drill

FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("SEEDS", "5")))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("drill", "backend"), CASES, ids=[f"{drill.__name__}-{backend}" for drill, backend in CASES])
def test_every_page_is_committed_exactly_once_while(drill: Drill, backend: str, seed: int, tmp_path: Path) -> None:
    drill(tmp_path, backend, seed, 2 + seed % 3)
