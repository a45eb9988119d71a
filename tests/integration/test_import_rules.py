"""The rules about who may import whom are real: a planted violation breaks the build."""

import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
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


HEXAGON = "No driver and no framework inside the hexagon"
PLANTED = [
    ("importing/engine.py", "sqlite3", HEXAGON),
    ("importing/engine.py", "asyncpg", HEXAGON),
    ("importing/engine.py", "redis", HEXAGON),
    ("importing/engine.py", "pymongo", HEXAGON),
    ("importing/engine.py", "pyarrow", HEXAGON),
    ("sharing/links/author.py", "httpx", HEXAGON),
    ("serving/reading/reader.py", "fastapi", HEXAGON),
    ("importing/plan.py", "waypost.sharing.links.link", "Layers point down"),
    ("sharing/links/author.py", "waypost.bootstrap.stores", "Layers point down"),
    ("scaling/jobs/worker.py", "waypost.places.place", "Layers point down"),
    ("access/keys.py", "waypost.places.place", "Layers point down"),
    ("web/places/routes.py", "waypost.adapters.sqlite.places", "Layers point down"),
    ("roles/up.py", "waypost.cli.up", "Layers point down"),
    ("settings.py", "waypost.adapters.sqlite.places", "Only bootstrap names adapters"),
    ("cli/places.py", "waypost.adapters.sqlite.places", "Only bootstrap names adapters"),
    ("roles/kit/event_loop.py", "waypost.adapters.sqlite.places", "Only bootstrap names adapters"),
    ("bootstrap/stores.py", "asyncpg", "Drivers stay in adapters"),
    ("web/app.py", "click", "Only commands know the terminal"),
    ("roles/up.py", "waypost.roles.serve", "Roles share their kit alone"),
    ("kernel/ids.py", "msgspec", "The kernel knows the standard library alone"),
    ("places/place.py", "structlog", "Metrics and logs reach the inner rooms through telemetry alone"),
]


def test_a_planted_violation_breaks_the_build(copy: Path) -> None:
    for room, planted, _ in PLANTED:
        path = copy / "src" / "waypost" / room
        path.write_text(f"import {planted}\n{path.read_text()}")
    said = lint(copy).stdout
    for room, planted, broken in PLANTED:
        assert f"{broken} BROKEN" in said
        module = f"waypost.{room.removesuffix('.py').replace('/', '.')}"
        assert f"{module} -> {planted} (" in said, f"{room} may import {planted}"


def test_a_room_that_no_layer_names_breaks_the_build(copy: Path) -> None:
    (copy / "src" / "waypost" / "unplaced.py").write_text("x = 1\n")
    done = lint(copy)
    assert done.returncode != 0
    assert "unplaced" in done.stdout


# What the inner rooms may use: arithmetic, formats and hashes, and what telemetry is for.
INSIDE = {
    "argon2",
    "geoindex_rs",
    "idna",
    "msgspec",
    "numpy",
    "prometheus_client",
    "structlog",
    "tzdata",
    "ua_parser",
    "xxhash",
}


def test_every_package_that_we_depend_on_is_allowed_inside_or_forbidden_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *chain(*project["project"]["optional-dependencies"].values())]
    names = {re.split(r"[\[<>=;]", each)[0].strip().replace("-", "_") for each in wanted}
    [hexagon] = [each for each in project["tool"]["importlinter"]["contracts"] if each["id"] == "hexagon"]
    assert {name.removesuffix("_cffi") for name in names} - INSIDE <= set(hexagon["forbidden_modules"])
