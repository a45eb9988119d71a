"""The models of the lease protocol hold, and each rule that is left out breaks one of their laws."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODELS = sorted((ROOT / "docs" / "proof").glob("*.pml"))


def test_the_models_hold_and_each_rule_left_out_breaks_one() -> None:
    done = subprocess.run([ROOT / "tools" / "proof"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("proved")
    # Each run that should break did so because of a law, and not because Spin could not read the model.
    told = re.findall(r": breaks\n  pan:1: (assertion violated|acceptance cycle)", done.stdout)
    assert len(told) == done.stdout.count(": breaks")


def test_every_rule_of_every_model_is_left_out_once() -> None:
    script = (ROOT / "tools" / "proof").read_text()
    for model in MODELS:
        runs = " ".join(re.findall(rf"^(?:breaks|holds) {model.stem}\b(.*)$", script, re.MULTILINE))
        for rule in re.findall(r"^#ifndef (\w+)", model.read_text(), re.MULTILINE):
            assert re.search(rf"\b{rule}\b", runs), f"{model.name}: {rule}"
