"""The rules about who may import whom are real: a planted violation breaks the build."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache", "--config", folder / "pyproject.toml"],
        cwd=folder / "src",
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_tree_as_it_is_keeps_every_rule(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("room", "planted", "broken"),
    [
        ("importing/engine.py", "import sqlite3", "No driver and no framework inside the hexagon"),
        ("sharing/links/author.py", "import httpx", "No driver and no framework inside the hexagon"),
        ("serving/reading/reader.py", "from fastapi import FastAPI", "No driver and no framework inside the hexagon"),
        ("importing/plan.py", "import waypost.sharing.links.link", "Layers point down"),
        ("scaling/jobs/worker.py", "import waypost.places.place", "Layers point down"),
        ("access/keys.py", "import waypost.places.place", "Layers point down"),
        ("web/places.py", "import waypost.adapters.sqlite.places", "Layers point down"),
        ("roles/up.py", "import waypost.cli.up", "Layers point down"),
        ("kernel/ids.py", "import msgspec", "The kernel knows the standard library alone"),
        ("places/place.py", "import structlog", "Metrics and logs reach the inner rooms through telemetry alone"),
        ("unplaced.py", "x = 1", "Layers point down"),
    ],
)
def test_a_planted_violation_breaks_the_build(copy: Path, room: str, planted: str, broken: str) -> None:
    path = copy / "src" / "waypost" / room
    path.write_text(f"{planted}\n" + (path.read_text() if path.exists() else ""))
    done = lint(copy)
    assert done.returncode != 0
    assert (
        f"{broken} BROKEN" in done.stdout or "exhaustive" in done.stdout.lower() or "not listed" in done.stdout.lower()
    )
