"""The harness itself: private servers start once a run, answer, and end with the run however it ends."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.processes import eventually
from support.servers import mongo, postgres, redis

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("address", [postgres.primary, redis.address, mongo.address])
def test_a_server_is_started_once_a_run(address: "object") -> None:
    assert callable(address)
    assert address() == address()
    assert "127.0.0.1" in address()


def test_a_replica_follows_its_primary() -> None:
    assert postgres.replica() != postgres.followed_primary()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_ends_with_its_run_whatever_happens(number: signal.Signals) -> None:
    script = """
        import signal
        from support.servers import redis
        print(redis.address(), flush=True)
        signal.pause()
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=TESTS, env=environment, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout
        port = int(run.stdout.readline().rpartition(":")[2])
        assert _listens(port)
        run.send_signal(number)
        run.wait()
    eventually(lambda: not _listens(port), "the server is gone")


def _listens(port: int) -> bool:
    listening = Path("/proc/net/tcp").read_text()
    return f"0100007F:{port:04X} 00000000:0000 0A" in listening
