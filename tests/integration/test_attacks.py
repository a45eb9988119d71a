"""A real server is attacked from outside, at random; `make chaos` does so with many seeds."""

import os
import random
from pathlib import Path

import pytest

from support.attacks.series import ATTACKS


@pytest.mark.parametrize("name", ATTACKS)
def test_a_server_holds_against(name: str, tmp_path: Path) -> None:
    attack = ATTACKS[name]
    attack.run(tmp_path, int(os.environ.get("SEED", random.randrange(10**9))), attack.some)
