"""The model of the lease protocol holds with fences, and fails without them."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_model_holds_with_fences_and_fails_without_them() -> None:
    done = subprocess.run([ROOT / "tools" / "proof"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "assertion violated" in done.stdout
    assert done.stdout.rstrip().endswith("proved")
