"""Imports are cancelled by `import cancel` and by nothing else."""

import json
import signal
from typing import Any

import pytest

from support.processes import Processes, Running, eventually

# So slow that no test sees the end of it: one small request to begin with, then a page every few seconds.
SLOW = "20/min"


def slow_provider(processes: Processes) -> dict[str, str]:
    return {"WAYPOST_OCM_URL": processes.simulator("--places", "3000"), "WAYPOST_BUDGET": SLOW}


def jobs_of(processes: Processes, env: dict[str, str]) -> list[dict[str, Any]]:
    """Before there is a store there are none."""
    done = processes.run("job", "list", "--json", env=env)
    found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return found


def started_run(processes: Processes, env: dict[str, str]) -> tuple[Running, str]:
    """An `import run` that is at work, and its import's id."""
    running = processes.start("import", "run", "--country", "DE,FR,NL,BE,AT", env=env)

    eventually(lambda: processes.run("job", "list", "--status", "leased", env=env).stdout, "it has begun to work")
    [found] = processes.json("import", "status", env=env)
    return running, found["id"]


def test_cancelling_ends_a_run_in_an_orderly_way(processes: Processes) -> None:
    env = slow_provider(processes)
    running, import_id = started_run(processes, env)

    standing = processes.json("import", "cancel", import_id, env=env)
    assert (standing["id"], standing["status"]) == (import_id, "cancelled")
    assert standing["finished_at"]
    assert standing["shards"]["cancelled"] == sum(standing["shards"].values()) - standing["shards"].get("done", 0)
    assert running.wait() == 1
    said = running.rest()
    assert "the import was cancelled; the same command goes on from here" in said
    assert "shards: " in said
    assert {job["status"] for job in jobs_of(processes, env)} <= {"done", "cancelled"}
    assert processes.json("import", "status", import_id, env=env)["status"] == "cancelled"


def test_cancelling_twice_is_harmless_and_a_new_import_takes_the_work_up_again(processes: Processes) -> None:
    env = slow_provider(processes) | {"WAYPOST_BUDGET": "100/s"}
    first = processes.json("import", "start", "--country", "DE,FR", env=env)
    for _ in range(2):
        assert processes.json("import", "cancel", first["id"], env=env)["shards"] == {"cancelled": 2}
    printed = processes.run("import", "cancel", first["id"], env=env)
    assert f"{first['id']}  cancelled" in printed.stdout
    assert "2 of 2 shards" in printed.stdout

    report = processes.json("import", "run", "--country", "DE,FR", env=env)
    assert report["shards"] == {"done": 2}
    assert processes.json("import", "status", first["id"], env=env)["status"] == "cancelled"


def test_what_another_import_wants_goes_on_until_that_is_cancelled_too(processes: Processes) -> None:
    env = slow_provider(processes) | {"WAYPOST_BUDGET": "100/s"}
    first = processes.json("import", "start", "--country", "DE,FR", env=env)
    second = processes.json("import", "start", "--country", "FR,NL", env=env)
    processes.json("import", "cancel", first["id"], env=env)
    assert sorted(job["status"] for job in jobs_of(processes, env)) == ["cancelled", "pending", "pending"]
    assert processes.json("import", "status", second["id"], env=env)["shards"] == {"pending": 2}
    report = processes.json("import", "report", first["id"], env=env)
    assert report["shards"] == {"cancelled": 2}
    assert [shard["status"] for shard in report["by_shard"]] == ["cancelled", "cancelled"]

    processes.json("import", "cancel", second["id"], env=env)
    assert {job["status"] for job in jobs_of(processes, env)} == {"cancelled"}


def test_what_a_schedule_wants_is_not_cancelled(processes: Processes) -> None:
    env = slow_provider(processes) | {"WAYPOST_BUDGET": "100/s"}
    schedule = 'schedule.nightly = { what = "full", country = "DE" }'
    (processes.folder / "waypost.toml").write_text(schedule, encoding="utf-8")
    scheduler = processes.start("scheduler", "run", env=env)
    eventually(lambda: jobs_of(processes, env), "the schedule has enqueued its job")
    scheduler.signal(signal.SIGTERM)
    assert scheduler.wait() == 0

    started = processes.json("import", "start", "--country", "DE,FR", env=env)
    processes.json("import", "cancel", started["id"], env=env)
    statuses = {job["shard"].split("/")[1]: job["status"] for job in jobs_of(processes, env)}
    assert statuses == {"country:DE": "pending", "country:FR": "cancelled"}


def test_an_import_that_has_ended_cannot_be_cancelled(processes: Processes) -> None:
    env = slow_provider(processes) | {"WAYPOST_BUDGET": "100/s"}
    report = processes.json("import", "run", "--country", "DE", env=env)
    done = processes.run("import", "cancel", report["id"], env=env)
    assert done.returncode == 1
    assert f"the import {report['id']} is done already: all its jobs have ended" in done.stderr
    assert f"waypost import report {report['id']}" in done.stderr
    assert processes.json("import", "status", report["id"], env=env)["status"] == "done"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
def test_an_import_that_is_stopped_is_not_cancelled_and_anybody_may_go_on(
    processes: Processes, number: signal.Signals, code: int
) -> None:
    env = slow_provider(processes)
    running, import_id = started_run(processes, env)
    running.signal(number)
    assert running.wait() == code
    standing = processes.json("import", "status", import_id, env=env)
    assert (standing["status"], standing["finished_at"]) == ("running", None)
    assert standing["shards"].get("pending")

    quick = env | {"WAYPOST_BUDGET": "100/s"}
    assert processes.run("worker", "run", "--until-done", env=quick).returncode == 0
    assert processes.json("import", "status", import_id, env=env)["status"] == "done"
