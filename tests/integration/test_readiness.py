"""`/readyz` says what a role can do while its store is away, and nothing of where things are on the machine."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from support.processes import Processes, eventually
from support.servers.private import PrivateServer, private_postgres, private_redis
from support.servers.sharing import free_port

TARGET = "https://example.org/a/page"


@contextmanager
def store(processes: Processes) -> Iterator[tuple[dict[str, str], PrivateServer]]:
    with private_postgres() as (url, server):
        env = {"WAYPOST_STORE": url}
        assert processes.run("db", "migrate", env=env).returncode == 0
        yield env, server


def verbose(url: str) -> tuple[int, dict[str, str]]:
    answer = httpx.get(f"{url}/readyz?verbose", timeout=30)
    assert answer.json()["ready"] == (answer.status_code == 200)
    return answer.status_code, answer.json()["checks"]


def worker(processes: Processes, env: dict[str, str]) -> str:
    port = free_port()
    processes.start("worker", "run", env=env | {"WAYPOST_HEALTH_PORT": str(port)}).wait_for("is at work")
    url = f"http://127.0.0.1:{port}"
    assert verbose(url)[0] == 200
    return url


def test_a_redirect_server_whose_store_is_away_answers_from_memory_and_stays_ready(processes: Processes) -> None:
    with store(processes) as (env, server):
        processes.run("link", "create", TARGET, "--phrase", "Summer-Party", env=env)
        url = processes.serve("redirect", env=env)
        assert verbose(url) == (200, {"store": "ok"})
        assert httpx.get(f"{url}/summer-party").status_code == 302
        server.kill()
        code, checks = eventually(lambda: (found := verbose(url))[1]["store"] != "ok" and found, "it is noticed")
        assert code == 200
        assert checks["store"] == "links are followed from memory: the store does not answer"
        assert httpx.get(f"{url}/readyz").text == "ok\n"
        assert httpx.get(f"{url}/summer-party").headers["location"] == TARGET
        server.start()
        eventually(lambda: verbose(url) == (200, {"store": "ok"}), "it is back")


def test_a_server_that_makes_links_is_not_ready_without_its_store(processes: Processes) -> None:
    with store(processes) as (env, server):
        url = processes.serve("links", env=env)
        server.kill()
        _, checks = eventually(lambda: (found := verbose(url))[0] == 503 and found, "it is noticed")
        assert checks == {"store": "the store does not answer"}


def test_a_worker_without_its_store_is_not_ready(processes: Processes) -> None:
    with store(processes) as (env, server):
        url = worker(processes, env)
        server.kill()
        _, checks = eventually(lambda: (found := verbose(url))[0] == 503 and found, "it is noticed")
        assert checks["store"] == "the store does not answer"
        server.start()
        eventually(lambda: verbose(url)[0] == 200, "it is ready again")


@pytest.mark.parametrize("role", ["worker", "scheduler"])
def test_a_worker_without_its_job_store_is_not_ready(processes: Processes, role: str) -> None:
    with private_redis() as (redis, server):
        env = {"WAYPOST_JOBS": redis}
        if role == "worker":
            url = worker(processes, env)
        else:
            snapshots = '[schedule.snapshots]\nwhat = "snapshot"\nevery = "1h"\n'
            (processes.folder / "waypost.toml").write_text(snapshots, encoding="utf-8")
            port = free_port()
            running = processes.start("scheduler", "run", env=env | {"WAYPOST_HEALTH_PORT": str(port)})
            running.wait_for("looks after")
            url = f"http://127.0.0.1:{port}"
        assert verbose(url) == (200, {"store": "ok", "jobs": "ok"})
        server.kill()
        _, checks = eventually(lambda: (found := verbose(url))[0] == 503 and found, "it is noticed")
        assert checks == {"store": "ok", "jobs": "the store does not answer"}
