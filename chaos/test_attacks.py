"""Many seeds of each attack on a server, with more tries: `make chaos` (SEEDS, FIRST_SEED)."""

import os
from pathlib import Path

import pytest

from support.attacks.series import ATTACKS

FIRST_SEED = int(os.environ.get("FIRST_SEED", "1"))
SEEDS = range(FIRST_SEED, FIRST_SEED + int(os.environ.get("SEEDS", "5")))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ATTACKS)
def test_a_server_holds_against(name: str, seed: int, tmp_path: Path) -> None:
    ATTACKS[name].run(tmp_path, seed, ATTACKS[name].many)
