"""The limit of open files is raised at the start; where it is too low, fewer clients are let in, and that is said."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from waypost.roles.kit.file_limit import room_for_connections
print(room_for_connections(wanted), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "room", "is_told"),
    [
        (256, 5000, 3000, 3000, False),
        (5000, 5000, 3500, 3500, False),
        (256, 5000, 4000, 3500, True),
        (256, 1000, 4000, 500, True),
        (256, 1000, 400, 400, False),
    ],
)
def test_a_process_gets_the_files_that_it_may_have(
    soft: int, hard: int, wanted: int, room: int, *, is_told: bool
) -> None:
    # A process of its own: no process can raise a hard limit again.
    command = [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    *said, found = done.stdout.splitlines()
    assert found == f"{room} {hard}"
    assert any(f"ulimit -n {wanted + 1500}" in line for line in said) == is_told
