"""One seed of each drill; `make chaos` runs many."""

from pathlib import Path

import pytest

from support.chaos.drills import CASES, Drill

SEED = 1
WORKERS = 2


@pytest.mark.parametrize(("drill", "backend"), CASES, ids=[f"{drill.__name__}-{backend}" for drill, backend in CASES])
def test_every_page_is_committed_exactly_once_while(drill: Drill, backend: str, tmp_path: Path) -> None:
    drill(tmp_path, backend, SEED, WORKERS)
