"""Commands that only need the store load neither a web framework nor what serves places."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("fastapi", "starlette", "uvicorn", "numpy")
TELL = f"""
import atexit, sys
atexit.register(lambda: print("loaded:", *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr))
from waypost.cli import main
main()
"""


@pytest.mark.parametrize(
    "command",
    [
        "link create https://example.org --phrase otter-party",
        "link list",
        "link show otter-party",
        "link stats otter-party",
        "link edit otter-party --title otters",
        "link export",
        "link rebuild",
        "key create otters --scope links:read",
        "key list",
    ],
)
def test_a_command_about_links_or_keys_loads_no_web_framework(command: str, tmp_path: Path) -> None:
    def run(text: str) -> "subprocess.CompletedProcess[str]":
        arguments = [sys.executable, "-c", TELL, *text.split(), "--data", str(tmp_path)]
        return subprocess.run(arguments, capture_output=True, text=True, check=False)

    if "create" not in command:
        run("link create https://example.org --phrase otter-party")
    done = run(command)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "loaded:"
