"""Many seeds of clients that use leases at once, with restarts of the store: `make chaos` (SEEDS, FIRST_SEED)."""

import os
from pathlib import Path

import pytest

from support.leases.runs import Run
from support.leases.stages import STAGES, killed

FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("SEEDS", "5")))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", STAGES)
def test_many_clients_at_once_break_no_law(name: str, seed: int, tmp_path: Path) -> None:
    with STAGES[name](tmp_path) as stage:
        Run(seed, clients=2 + seed % 4, steps=200).on(stage)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["postgres", "mongodb", "redis"])
def test_a_store_that_is_killed_again_and_again_has_lost_nothing_it_acknowledged(name: str, seed: int) -> None:
    with killed(name) as stage:
        # What a kill left unanswered may have happened at any later time: with much of it, the search takes long.
        Run(seed, clients=2 + seed % 3, steps=100, restarts=2).on(stage)
