"""Budgets as people meet them: what a provider's refusal does, where a budget is kept, and how to look at it."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest
from redis import Redis

from support.job_store_postgres import clean_database
from support.moody_provider import moody_provider
from support.processes import Processes
from support.servers.private import private_redis

KEY = "a-key-that-nobody-may-see"


def in_seconds(seconds: int) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("retry_after", ["2", "a date"])
def test_a_refusal_silences_the_import_for_as_long_as_the_provider_said(
    processes: Processes, status: int, retry_after: str
) -> None:
    # A date has whole seconds, and some pass before the import begins.
    headers = {"Retry-After": in_seconds(6) if retry_after == "a date" else retry_after}
    with moody_provider((200, {}), (status, headers)) as (url, moods):
        env = {"WAYPOST_OCM_URL": url, "WAYPOST_BUDGET": "50/s", "WAYPOST_JOBS_CONCURRENCY": "1"}
        report = processes.json("import", "run", "--country", "DE,FR,NL,PL", "--processes", "1", env=env)
        view = processes.json("budget", "show", env=env)
    assert report["shards"] == {"done": 4}
    assert view["pace"] == pytest.approx(0.5, abs=0.02)
    assert [status for _, status in moods.log].count(status) == 1
    [silence] = [later - earlier for (earlier, answered), (later, _) in pairwise(moods.log) if answered == status]
    assert silence >= (1.5 if retry_after == "a date" else 2)


def test_what_a_provider_says_is_left_slows_the_import_down(processes: Processes) -> None:
    left = {"X-RateLimit-Remaining": "100", "X-RateLimit-Reset": "10"}
    with moody_provider(*[(200, left)] * 10) as (url, _):
        env = {"WAYPOST_OCM_URL": url, "WAYPOST_BUDGET": "50/s"}
        processes.json("import", "run", "--country", "DE,FR,NL,PL", "--processes", "1", env=env)
        view = processes.json("budget", "show", env=env)
    assert view["pace"] == pytest.approx(10 / 50, abs=0.02)
    assert view["penalty"] == 0


def test_two_machines_share_a_budget_in_redis_and_the_key_is_nowhere(processes: Processes, tmp_path: Path) -> None:
    with private_redis() as (redis_url, redis), moody_provider() as (url, _):
        env = {
            "WAYPOST_OCM_URL": url,
            "WAYPOST_OCM_KEY": KEY,
            "WAYPOST_REDIS": redis_url,
            "WAYPOST_BUDGET": "100/s,5000/day",
        }
        outputs = []
        for folder in ("one", "other"):
            done = processes.run(
                "import", "run", "--country", "DE,FR", "--data", folder, "--debug", "--processes", "1", env=env
            )
            assert done.returncode == 0, done.stderr
            outputs += [done.stdout, done.stderr]
        view = processes.json("budget", "show", "--data", "nothing-there", env=env)
        assert view["processes"] == 2
        assert [limit["limit"] for limit in view["limits"]] == ["100/s", "5000/day"]
        sentence = processes.run("budget", "show", env=env)
        assert "2 processes" in sentence.stdout

        client = Redis.from_url(redis_url)
        stored = b"".join(client.dump(name) + name for name in client.scan_iter())
        client.close()
        assert b"budget:ocm" in stored
        assert KEY.encode() not in stored
        assert KEY not in "".join(outputs) + sentence.stdout + str(view)
        files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
        assert not [content for content in files if KEY.encode() in content]

        redis.kill()
        away = processes.run("budget", "show", env=env)
        assert away.returncode == 1
        assert "WAYPOST_REDIS" in away.stderr


def test_a_budget_is_kept_beside_jobs_in_postgresql(processes: Processes) -> None:
    async def walk() -> None:
        async with clean_database() as jobs:
            await asyncio.to_thread(look, jobs)

    def look(jobs: str) -> None:
        with moody_provider() as (url, _):
            env = {"WAYPOST_OCM_URL": url, "WAYPOST_JOBS": jobs}
            processes.json("import", "run", "--country", "DE", "--data", "one", env=env)
            assert processes.json("budget", "show", "--data", "other", env=env)["processes"] == 1

    asyncio.run(walk())


def test_looking_takes_nothing_and_makes_nothing(processes: Processes, tmp_path: Path) -> None:
    missing = processes.run("budget", "show")
    assert missing.returncode == 1
    assert "there is no store at" in missing.stderr
    assert not (tmp_path / "waypost-data").exists()


def test_it_can_be_watched(processes: Processes) -> None:
    with moody_provider() as (url, _):
        env = {"WAYPOST_OCM_URL": url}
        processes.json("import", "run", "--country", "DE", env=env)
        watched = processes.run("budget", "show", "--watch", "--times", "3", "--every", "10ms", env=env)
    assert watched.returncode == 0
    assert watched.stdout.count("pace 100%") == 3


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("WAYPOST_BUDGET", "often", "is not a limit; write it like 5/s"),
        ("WAYPOST_BUDGET_OCM_GLOBAL", "5", "is not a limit; write it like 5/s"),
        ("WAYPOST_BUDGET_WHEN_AWAY", "close", "Did you mean closed?"),
        ("WAYPOST_BUDGET_FLOOR", "0", "is not a share"),
        ("WAYPOST_BUDGET_CEILING", "150%", "is not a share"),
        ("WAYPOST_BUDGET_RECOVERY", "soon", "is not a duration"),
        ("WAYPOST_REDIS", "http://user:hidden@localhost", "write it like redis://"),
        ("WAYPOST_REDIS", "redis://user:hidden@127.0.0.1:1/0", "see that Redis runs"),
    ],
)
def test_what_cannot_be_used_is_refused_with_an_example(
    processes: Processes, name: str, value: str, complaint: str
) -> None:
    done = processes.run("budget", "show", env={name: value})
    assert done.returncode in {1, 2}
    assert complaint in done.stderr
    assert "hidden" not in done.stderr
    assert "Traceback" not in done.stderr
