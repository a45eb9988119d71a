"""A command loads what it needs: which modules those are decides how long it takes to start, on any machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import Processes

WEB = {"fastapi", "starlette", "uvicorn", "numpy"}
DRIVERS = {"httpx", "asyncpg", "pymongo", "redis", "pyarrow"}

# Written to a file of its own, because what a command prints is its answer.
LOADING = """
import atexit, pathlib, sys
atexit.register(lambda: pathlib.Path("loaded.txt").write_text(" ".join(sys.modules)))
from waypost.cli import main
main()
"""


@pytest.fixture
def store(processes: Processes) -> Path:
    """A folder with a store in it, and nothing to do."""
    assert processes.run("db", "migrate").returncode == 0
    return processes.folder


def loaded_by(folder: Path, *arguments: str) -> set[str]:
    """The packages that a command has loaded by its end."""
    done = subprocess.run(
        [sys.executable, "-c", LOADING, *arguments],
        cwd=folder,
        env=Processes._environment(None),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in (folder / "loaded.txt").read_text().split()}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_needs_nothing_loads_neither_framework_nor_driver_nor_logs(tmp_path: Path, option: str) -> None:
    loaded = loaded_by(tmp_path, option)
    assert "waypost" in loaded
    assert loaded & (WEB | DRIVERS | {"prometheus_client", "rich", "structlog"}) == set()


@pytest.mark.parametrize("command", [("job", "list"), ("worker", "run", "--until-done")], ids=" ".join)
def test_work_with_jobs_loads_nothing_of_the_web(store: Path, command: tuple[str, ...]) -> None:
    assert loaded_by(store, *command) & WEB == set()


@pytest.mark.parametrize("command", [("key", "list")], ids=" ".join)
def test_other_work_with_a_store_loads_nothing_of_the_web(store: Path, command: tuple[str, ...]) -> None:
    assert loaded_by(store, *command) & WEB == set()
