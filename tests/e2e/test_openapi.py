"""The API's description is true: schemathesis asks a real server whatever it allows, and what it does not."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from support.processes import Processes
from support.snapshots import shelve, stations

_TESTS = Path(__file__).resolve().parents[1]
# What a schema cannot say: that a box's south lies south of its north, and which generations there are. Valid questions
# are asked by other tests.
_LEFT_OUT = "positive_data_acceptance"


def without_maximum(description: Any) -> Any:
    """More than the most is lowered and not refused: OGC API Features wants both the maximum and that."""
    for path in ("/v1/places", "/v1/places/counts", "/collections/places/items"):
        for parameter in description["paths"][path]["get"]["parameters"]:
            if parameter["name"] == "limit":
                assert parameter["schema"].pop("maximum") == 10_000
    return description


@pytest.mark.timeout(300)
def test_schemathesis_finds_nothing(processes: Processes, tmp_path: Path) -> None:
    shelve(tmp_path / "snapshots", stations(300))
    url = processes.serve("all", "--data", str(tmp_path))
    answer = httpx.get(f"{url}/openapi.json")
    assert answer.headers["content-type"] == "application/vnd.oai.openapi+json;version=3.0"
    assert answer.json()["openapi"].startswith("3.0.")
    described = tmp_path / "openapi.json"
    described.write_bytes(msgspec.json.encode(without_maximum(answer.json())))
    done = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            *("run", str(described), "--url", url, "--no-color", "--seed", "1"),
            *("--phases", "examples,coverage,fuzzing", "--max-examples", "15", "--exclude-checks", _LEFT_OUT),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "support.schemathesis_hooks", "PYTHONPATH": str(_TESTS)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout
