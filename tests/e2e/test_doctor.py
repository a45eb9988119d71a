"""`waypost doctor` on real servers: what is away, wrong, old or about to run out is said, and ends with exit code 1."""

import asyncio
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.chaos.clocks import wrong_clock
from support.job_store_mongodb import clean_url
from support.job_store_postgres import clean_database
from support.processes import Processes
from support.servers import redis, redis_cluster
from support.servers.private import private_redis
from support.servers.sharing import find_program, free_port

PASSWORD = "kept-to-itself"
NEEDED = {"Python", "SQLite", "system", "time zones", "open files", "data folder", "free disk space", "store"}


@pytest.fixture
def database() -> Iterator[str]:
    with asyncio.Runner() as runner:
        opening = clean_database()
        yield runner.run(opening.__aenter__())
        runner.run(opening.__aexit__(None, None, None))


def examine(processes: Processes, env: dict[str, str]) -> tuple[int, dict[str, Any]]:
    done = processes.run("doctor", "--json", env=env)
    findings = msgspec.json.decode(done.stdout)
    assert len({each["name"] for each in findings}) == len(findings)
    return done.returncode, {each["name"]: each for each in findings}


def wrong(findings: dict[str, Any]) -> set[str]:
    return {name for name, each in findings.items() if each["needed"] and not each["ok"]}


def test_with_nothing_configured_it_looks_at_this_machine_alone(processes: Processes) -> None:
    code, findings = examine(processes, {})
    assert (code, wrong(findings)) == (0, set())
    assert findings.keys() == NEEDED | {"port", "provider key", "Chromium"}
    assert findings["store"]["found"] == "not made yet"
    assert not (processes.folder / "waypost-data").exists()


def test_everything_that_is_configured_has_its_lines(processes: Processes, database: str) -> None:
    env = {"WAYPOST_STORE": database, "WAYPOST_ANALYTICS": database, "WAYPOST_JOBS": f"{redis.address()}/3"}
    code, findings = examine(processes, env | {"WAYPOST_REDIS": redis.address()})
    assert (code, wrong(findings)) == (0, set())
    servers = {"clock of the store", "jobs", "clock of the jobs", "eviction at the jobs", "analytics"}
    assert findings.keys() > servers | {
        "clock of the analytics",
        "Redis",
        "clock of the Redis",
        "eviction at the Redis",
    }
    assert findings["store"]["found"] == "schema 1"
    assert findings["eviction at the jobs"]["found"] == "noeviction"


@pytest.mark.parametrize("setting", ["WAYPOST_REDIS", "WAYPOST_JOBS"])
def test_a_redis_that_is_away_is_told_and_hides_nothing(processes: Processes, setting: str) -> None:
    url = f"redis://app:{PASSWORD}@127.0.0.1:{free_port()}/0"
    code, findings = examine(processes, {setting: url})
    name = "Redis" if setting == "WAYPOST_REDIS" else "jobs"
    assert (code, wrong(findings)) == (1, {name})
    assert setting in findings[name]["advice"]
    assert findings.keys() > NEEDED


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"WAYPOST_STORE": "postgresql://app:{password}@127.0.0.1:{port}/db"}, {"store"}),
        ({"WAYPOST_JOBS": "postgresql://app:{password}@127.0.0.1:{port}/db"}, {"jobs"}),
        ({"WAYPOST_ANALYTICS": "postgresql://app:{password}@127.0.0.1:{port}/db"}, {"analytics"}),
        ({"WAYPOST_STORE": "mongodb://app:{password}@127.0.0.1:{port}/?serverSelectionTimeoutMS=500"}, {"store"}),
        ({"WAYPOST_STORE": "postgresql://app:{password}@127.0.0.1:no-port/db"}, {"store"}),
        ({"WAYPOST_STORE": "mongodb://app:{password}@127.0.0.1:no-port/db"}, {"store"}),
        ({"WAYPOST_STORE": "mongodb://app:{password}@x@127.0.0.1/db"}, {"store"}),
        ({"WAYPOST_STORE": "mysql://app:{password}@127.0.0.1/db"}, {"store"}),
        ({"WAYPOST_REDIS": "redis://app:{password}@127.0.0.1:{port}/zero?what=ever"}, {"Redis"}),
        (
            {
                "WAYPOST_STORE": "postgresql://app:{password}@127.0.0.1:{port}/db",
                "WAYPOST_JOBS": "redis://:{password}@127.0.0.1:{port}",
                "WAYPOST_REDIS": "redis+cluster://:{password}@127.0.0.1:{port}",
                "WAYPOST_ANALYTICS": "postgres://app:{password}@127.0.0.1:{port}/db?sslmode=disable",
            },
            {"store", "jobs", "Redis", "analytics"},
        ),
    ],
)
def test_each_store_that_cannot_be_used_is_told_without_its_password(
    processes: Processes, variables: dict[str, str], names: set[str]
) -> None:
    env = {name: url.format(password=PASSWORD, port=free_port()) for name, url in variables.items()}
    code, findings = examine(processes, env)
    assert (code, wrong(findings)) == (1, names)
    shown = processes.run("doctor", "--debug", env=env)
    assert PASSWORD not in msgspec.json.encode(findings).decode() + shown.stdout + shown.stderr
    assert "Traceback" not in shown.stderr
    lines = [line for line in shown.stdout.splitlines() if line.startswith("FAIL")]
    assert len(lines) == len(names)
    assert all("; next: " in line for line in lines)


def test_a_store_that_never_answers_is_given_up_on(processes: Processes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        code, findings = examine(processes, {"WAYPOST_STORE": f"postgresql://app@127.0.0.1:{port}/db"})
    assert (code, wrong(findings)) == (1, {"store"})
    assert "no answer" in findings["store"]["found"]


@contextmanager
def evicting(policy: str) -> Iterator[str]:
    with private_redis() as (url, _server):
        port = url.rpartition(":")[2]
        say = [find_program("redis-cli"), "-p", port, "config", "set", "maxmemory-policy", policy]
        subprocess.run(say, check=True, capture_output=True)
        yield url


@pytest.mark.parametrize(("setting", "name"), [("WAYPOST_REDIS", "Redis"), ("WAYPOST_JOBS", "jobs")])
def test_a_redis_that_may_forget_what_it_was_told_is_refused(processes: Processes, setting: str, name: str) -> None:
    with evicting("allkeys-lru") as url:
        code, findings = examine(processes, {setting: url})
        assert (code, wrong(findings)) == (1, {f"eviction at the {name}"})
        found = findings[f"eviction at the {name}"]
        assert "allkeys-lru" in found["found"]
        assert found["advice"].endswith("config set maxmemory-policy noeviction")


def test_the_nodes_of_a_cluster_are_asked_too(processes: Processes) -> None:
    code, findings = examine(processes, {"WAYPOST_REDIS": redis_cluster.address()})
    assert (code, wrong(findings)) == (0, set())
    assert findings["eviction at the Redis"]["found"] == "noeviction"


def test_a_clock_that_differs_from_the_stores_is_told(processes: Processes, database: str) -> None:
    env = {"WAYPOST_STORE": database, "WAYPOST_REDIS": redis.address()} | wrong_clock(processes.folder, 120)
    code, findings = examine(processes, env)
    assert (code, wrong(findings)) == (1, {"clock of the store", "clock of the Redis"})
    assert "behind" in findings["clock of the store"]["found"]
    asyncio.run(with_mongodb(processes))


async def with_mongodb(processes: Processes) -> None:
    async with clean_url() as url:
        env = {"WAYPOST_STORE": url}
        assert (await asyncio.to_thread(processes.run, "db", "migrate", env=env)).returncode == 0
        code, findings = await asyncio.to_thread(examine, processes, env)
        assert (code, wrong(findings)) == (0, set())
        code, findings = await asyncio.to_thread(examine, processes, env | wrong_clock(processes.folder, -120))
        assert (code, wrong(findings)) == (1, {"clock of the store"})
        assert "ahead" in findings["clock of the store"]["found"]


def test_a_schema_that_is_old_is_told_for_every_store(processes: Processes) -> None:
    async def look() -> tuple[int, dict[str, Any]]:
        async with clean_database(migrated=False) as url:
            return await asyncio.to_thread(examine, processes, {"WAYPOST_JOBS": url, "WAYPOST_ANALYTICS": url})

    code, findings = asyncio.run(look())
    assert (code, wrong(findings)) == (1, {"jobs", "analytics"})
    assert findings["jobs"]["advice"] == "waypost db migrate"


def test_few_open_files_are_told(processes: Processes) -> None:
    done = processes.run("doctor", preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    assert done.returncode == 1
    assert "FAIL  open files: 256" in done.stdout
    assert "ulimit -n" in done.stdout


def test_missing_time_zones_are_told(processes: Processes, tmp_path: Path) -> None:
    hiding = tmp_path / "hiding"
    (hiding / "tzdata").mkdir(parents=True)
    (hiding / "tzdata" / "__init__.py").write_text("")
    code, findings = examine(processes, {"PYTHONTZPATH": "", "PYTHONPATH": str(hiding)})
    assert (code, wrong(findings)) == (1, {"time zones"})
