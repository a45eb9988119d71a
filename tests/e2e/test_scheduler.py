"""The scheduler as a process: beside workers, beside another scheduler, away for weeks, paused, ended."""

import re
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from support.processes import Processes, Running
from waypost.importing.windows import Window
from waypost.kernel.clock import from_text, to_text

HOURLY = '[schedule.hourly]\nwhat = "windows"\ncountry = "DE,FR"\nevery = "1h"\n'
SNAPSHOTS = '[schedule.snapshots]\nwhat = "snapshot"\nevery = "1h"\n'
NIGHTLY = '[schedule.nightly]\nwhat = "full"\ncountry = "DE"\nat = "02:30"\n'
TIDY = '[schedule.tidy]\nwhat = "prune"\nolder_than = "30d"\n'


def configure(processes: Processes, *tables: str) -> None:
    (processes.folder / "waypost.toml").write_text("".join(tables), encoding="utf-8")


@contextmanager
def database(processes: Processes) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(processes.folder / "waypost-data" / "waypost.db", timeout=30)) as opened, opened:
        yield opened


def jobs(processes: Processes) -> dict[str, str]:
    with database(processes) as opened:
        return dict(opened.execute("select shard, status from jobs order by shard"))


def kinds(processes: Processes) -> set[str]:
    """The keys up to their times."""
    return {re.split(r":[0-9]", shard, maxsplit=1)[0] for shard in jobs(processes)}


def start(processes: Processes) -> Running:
    """A scheduler that has looked once."""
    running = processes.start("scheduler", "run", "--debug")
    running.wait_for("looked")
    return running


def end(running: Running, number: signal.Signals = signal.SIGTERM) -> int:
    running.signal(number)
    code = running.wait()
    assert "Traceback" not in running.rest()
    return code


def listed(processes: Processes) -> dict[str, Any]:
    return {each["name"]: each for each in processes.json("scheduler", "list")}


def test_a_window_a_snapshot_and_everything_get_done_beside_a_worker(processes: Processes) -> None:
    configure(processes, NIGHTLY, HOURLY, SNAPSHOTS)
    env = {"WAYPOST_OCM_URL": processes.simulator("--places", "200"), "WAYPOST_BUDGET": "100/s"}
    scheduler = start(processes)
    worker = processes.run("worker", "run", "--until-done", env=env)
    assert worker.returncode == 0, worker.stderr
    assert end(scheduler) == 0

    assert set(jobs(processes).values()) == {"done"}
    assert kinds(processes) == {
        "ocm/country:DE/full",
        "ocm/country:DE/window",
        "ocm/country:FR/window",
        "waypost/snapshot",
    }
    key = next(shard for shard in jobs(processes) if shard.startswith("ocm/country:DE/window:"))
    window = Window.parse(key.removeprefix("ocm/country:DE/window:"))
    assert window.end - window.start == timedelta(hours=1)
    assert timedelta(minutes=1) <= datetime.now(UTC) - window.end < timedelta(hours=2)
    assert key.replace("DE", "FR") in jobs(processes)
    assert (processes.folder / "waypost-data" / "snapshots" / "CURRENT").exists()


def test_two_schedulers_at_once_enqueue_everything_once(processes: Processes) -> None:
    configure(processes, HOURLY, SNAPSHOTS)
    both = [processes.start("scheduler", "run", "--debug") for _ in range(2)]
    for each in both:
        each.wait_for("looked")
    assert [end(each) for each in both] == [0, 0]
    said = [line for each in both for line in each.lines if '"enqueued"' in line]
    assert sum(msgspec.json.decode(line)["jobs"] for line in said) == len(jobs(processes))
    assert kinds(processes) == {"ocm/country:DE/window", "ocm/country:FR/window", "waypost/snapshot"}


def test_what_fell_due_while_it_was_away_is_caught_up_with(processes: Processes) -> None:
    configure(processes, HOURLY, SNAPSHOTS)
    end(start(processes))
    with database(processes) as opened:
        since = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(days=40, hours=5)
        opened.execute("delete from jobs")
        fact = msgspec.json.encode({"covered_until": since}).decode()
        opened.execute("update facts set value = ? where name like 'schedule:%'", (fact,))
    end(start(processes))
    until = listed(processes)["hourly"]["covered_until"]
    plan = ["import", "plan", "--country", "DE,FR", "--since", to_text(since), "--until", until]
    planned = processes.json(*plan)["shards"]
    assert 2 * 7 < len(planned) < 2 * 100
    found = [shard for shard in jobs(processes) if shard.startswith("ocm/")]
    assert found == sorted(planned)
    # A snapshot of now is as good as all those that were missed.
    assert 1 <= len(jobs(processes)) - len(found) <= 2


def test_a_paused_schedule_rests_until_it_is_resumed(processes: Processes) -> None:
    configure(processes, HOURLY, SNAPSHOTS)
    assert processes.run("scheduler", "pause", "hourly").stdout == "hourly is paused\n"
    end(start(processes))
    assert kinds(processes) == {"waypost/snapshot"}
    assert listed(processes)["hourly"] == {
        "name": "hourly",
        "what": "windows",
        "scope": "DE,FR",
        "every": "1h",
        "next_due": None,
        "covered_until": None,
        "paused": True,
        "dead": 0,
        "overdue_since": None,
    }
    assert processes.json("scheduler", "resume", "hourly")["paused"] is False
    end(start(processes))
    assert kinds(processes) == {"ocm/country:DE/window", "ocm/country:FR/window", "waypost/snapshot"}
    shown = listed(processes)["hourly"]
    assert from_text(shown["next_due"]) - from_text(shown["covered_until"]) >= timedelta(hours=1, minutes=1)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_when_it_is_asked_to(processes: Processes, number: signal.Signals, code: int) -> None:
    configure(processes, SNAPSHOTS)
    assert end(start(processes), number) == code


def test_old_jobs_are_forgotten_when_it_is_due(processes: Processes) -> None:
    configure(processes, SNAPSHOTS)
    end(start(processes))
    assert processes.run("worker", "run", "--until-done").returncode == 0
    with database(processes) as opened:
        opened.execute("update jobs set finished_at = finished_at - 31 * 86400 * 1000000")
    configure(processes, TIDY)
    end(start(processes))
    assert processes.run("worker", "run", "--until-done").returncode == 0
    [(shard, status)] = jobs(processes).items()
    assert shard.startswith("waypost/prune:")
    assert (shard.rpartition("/")[2], status) == ("older:2592000s", "done")
    assert processes.json("job", "show", shard)["counters"] == {"pruned": 1}


@pytest.mark.parametrize("role", ["scheduler", "worker"])
def test_without_being_asked_a_role_forgets_what_is_old(processes: Processes, role: str) -> None:
    configure(processes, SNAPSHOTS)
    end(start(processes))
    assert processes.run("worker", "run", "--until-done").returncode == 0
    with database(processes) as opened:
        opened.execute("update jobs set finished_at = finished_at - 31 * 86400 * 1000000")
        opened.execute("delete from facts where name = 'forgot-at'")
    running = processes.start(role, "run")
    running.wait_for("old jobs are forgotten")
    assert end(running) == 0


def test_a_chore_that_this_release_does_not_know_goes_dead_with_a_reason(processes: Processes) -> None:
    configure(processes, SNAPSHOTS)
    end(start(processes))
    with database(processes) as opened:
        opened.execute("update jobs set shard = 'waypost/sweep:2026-02-21T00:00:00Z'")
    processes.run("worker", "run", "--until-done")
    job = processes.json("job", "show", "waypost/sweep:2026-02-21T00:00:00Z")
    assert (job["status"], job["last_error_code"]) == ("dead", "bad-shard-key")


def test_without_schedules_it_says_how_to_write_one(processes: Processes) -> None:
    done = processes.run("scheduler", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no schedules are configured" in done.stderr
    example = done.stderr.partition("such as: ")[2]
    assert processes.json("scheduler", "list") == []
    assert list(processes.folder.iterdir()) == []
    configure(processes, example)
    assert listed(processes).keys() == {"hourly"}
    assert not (processes.folder / "waypost-data").exists()


@pytest.mark.parametrize(
    ("tables", "arguments", "hint"),
    [
        (HOURLY, ["pause", "hourely"], "Did you mean hourly?"),
        (HOURLY, ["resume", "weekly"], "there is no schedule 'weekly'"),
        (HOURLY.replace("1h", "1x"), ["list"], "schedule.hourly.every"),
        (HOURLY + 'soruce = "ocm"\n', ["run"], "Did you mean schedule.hourly.source?"),
        (HOURLY + 'source = "ocn"\n', ["run"], "Did you mean ocm?"),
    ],
)
def test_asked_wrongly_it_says_what_is_wrong(
    processes: Processes, tables: str, arguments: list[str], hint: str
) -> None:
    configure(processes, tables)
    done = processes.run("scheduler", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_import_start_enqueues_and_leaves_the_work_to_workers(processes: Processes) -> None:
    env = {"WAYPOST_OCM_URL": processes.simulator("--places", "100"), "WAYPOST_BUDGET": "100/s"}
    started = processes.json("import", "start", "--country", "DE,FR", env=env)
    assert started.keys() == {"id", "shards"}
    assert started["shards"] == 2
    assert list(jobs(processes).values()) == ["pending", "pending"]

    again = processes.run("import", "start", "--country", "DE", "--refresh", env=env)
    assert (again.returncode, again.stderr) == (0, "1 shards; next: waypost worker run\n")
    assert f"ocm/country:DE/refresh:{again.stdout.strip()}" in jobs(processes)
    assert processes.run("worker", "run", "--until-done", env=env).returncode == 0
    assert set(jobs(processes).values()) == {"done"}


def test_import_start_with_a_provider_that_is_away_leaves_nothing_behind(processes: Processes) -> None:
    done = processes.run("import", "start", "--country", "DE", env={"WAYPOST_OCM_URL": "http://127.0.0.1:9"})
    assert done.returncode == 1
    assert "does not answer" in done.stderr
    assert jobs(processes) == {}
