"""A scheduled import that fails, a schedule that is overdue, a dead job: told by metric, log line and command."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import msgspec
import pytest

from support.processes import Processes, eventually
from support.servers.sharing import free_port

HOURLY = '[schedule.hourly]\nwhat = "windows"\ncountry = "DE,FR"\nevery = "1h"\n'
SNAPSHOTS = '[schedule.snapshots]\nwhat = "snapshot"\nevery = "1h"\n'
OLD = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=5)


@contextmanager
def database(processes: Processes) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(processes.folder / "waypost-data" / "waypost.db", timeout=30)) as opened, opened:
        yield opened


@pytest.fixture
def scheduled(processes: Processes) -> Processes:
    """All that is due is enqueued, and done."""
    (processes.folder / "waypost.toml").write_text(HOURLY + SNAPSHOTS, encoding="utf-8")
    running = processes.start("scheduler", "run", "--debug")
    running.wait_for('"looked"')
    running.signal(signal.SIGTERM)
    assert running.wait() == 0
    with database(processes) as opened:
        opened.execute("update jobs set status = 'done', finished_at = created_at")
    return processes


def check(processes: Processes) -> tuple[int, str]:
    done = processes.run("scheduler", "list", "--check")
    return done.returncode, done.stdout


def let_windows_die(processes: Processes) -> None:
    with database(processes) as opened:
        dying = "status = 'dead', last_error_code = 'provider-failed', last_error_message = 'it failed (500)'"
        opened.execute(f"update jobs set {dying} where shard like 'ocm/%'")


def cover_until(processes: Processes, moment: datetime) -> None:
    with database(processes) as opened:
        fact = msgspec.json.encode({"covered_until": moment}).decode()
        opened.execute("update facts set value = ? where name = 'schedule:hourly'", (fact,))


def test_when_all_is_well_the_check_ends_with_0(scheduled: Processes) -> None:
    code, said = check(scheduled)
    assert (code, "next:" in said) == (0, False)


def test_a_scheduled_import_that_failed_is_told(scheduled: Processes) -> None:
    let_windows_die(scheduled)
    code, said = check(scheduled)
    assert code == 1
    assert "hourly: 2 dead jobs; next: waypost job list --status dead --prefix ocm/country:DE" in said
    assert scheduled.run("scheduler", "list").returncode == 0
    done = scheduled.run("scheduler", "list", "--check", "--json")
    listed = {each["name"]: each for each in msgspec.json.decode(done.stdout)}
    assert done.returncode == 1
    assert (listed["hourly"]["dead"], listed["snapshots"]["dead"]) == (2, 0)


def test_a_schedule_that_nobody_looks_after_is_overdue(scheduled: Processes) -> None:
    cover_until(scheduled, OLD)
    code, said = check(scheduled)
    assert code == 1
    assert "hourly: overdue since " in said
    assert "next: waypost scheduler run" in said


def test_a_schedule_whose_jobs_nobody_does_is_overdue(scheduled: Processes) -> None:
    with database(scheduled) as opened:
        late = "created_at = created_at - 3 * 3600 * 1000000"
        opened.execute(f"update jobs set status = 'pending', finished_at = null, {late} where shard like 'waypost/%'")
    code, said = check(scheduled)
    assert code == 1
    assert "snapshots: overdue since " in said
    assert "next: waypost worker run" in said


def test_a_schedule_that_is_paused_is_never_overdue(scheduled: Processes) -> None:
    cover_until(scheduled, OLD)
    assert scheduled.run("scheduler", "pause", "hourly").returncode == 0
    assert check(scheduled)[0] == 0


def test_a_dead_job_of_no_schedule_is_told_too(scheduled: Processes) -> None:
    with database(scheduled) as opened:
        opened.execute("delete from job_groups")
    let_windows_die(scheduled)
    code, said = check(scheduled)
    assert code == 1
    assert "2 dead jobs; next: waypost job list --status dead" in said


def test_without_schedules_dead_jobs_are_told_all_the_same(scheduled: Processes) -> None:
    let_windows_die(scheduled)
    (scheduled.folder / "waypost.toml").write_text("", encoding="utf-8")
    code, said = check(scheduled)
    assert code == 1
    assert "2 dead jobs" in said


def test_a_scheduler_has_a_metric_and_a_log_line_for_each(scheduled: Processes) -> None:
    let_windows_die(scheduled)
    with database(scheduled) as opened:
        late = "created_at = created_at - 3 * 3600 * 1000000"
        opened.execute(f"update jobs set status = 'pending', finished_at = null, {late} where shard like 'waypost/%'")
    port = free_port()
    running = scheduled.start("scheduler", "run", env={"WAYPOST_HEALTH_PORT": str(port)})
    told = {}
    for _ in range(2):
        running.wait_for('"a schedule needs a look"')
        line = msgspec.json.decode(running.lines[-1])
        told[line["schedule"]] = line
    assert told["hourly"]["dead"] == 2
    assert told["snapshots"]["overdue_since"]
    assert {line["level"] for line in told.values()} == {"error"}

    def metrics() -> str:
        return httpx.get(f"http://127.0.0.1:{port}/metrics").text

    eventually(lambda: "waypost_jobs_dead 2.0" in metrics(), "dead jobs are counted")
    assert 'waypost_schedule_dead_jobs{schedule="hourly"} 2.0' in metrics()
    assert 'waypost_schedule_overdue_seconds{schedule="hourly"} 0.0' in metrics()
    [overdue] = [
        line for line in metrics().splitlines() if line.startswith('waypost_schedule_overdue_seconds{schedule="snap')
    ]
    assert 3600 < float(overdue.rpartition(" ")[2]) < 4 * 3600
