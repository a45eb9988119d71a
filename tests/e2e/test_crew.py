"""An import by several processes: killed, stopped, refused, and orphaned."""

import os
import signal
from pathlib import Path

import msgspec
import pytest

from support.processes import Processes, Running, eventually

COUNTRIES = "DE,FR,NL,GB,US"
# Nobody loses a lease by itself, however busy the machine is.
LONG = {"WAYPOST_LEASE": "30s"}
# So slow that the first lines of progress tell of leases: a line comes every five seconds.
SLOW = {"WAYPOST_IMPORT_PAGE_SIZE": "20", "WAYPOST_LEASE": "1s", "WAYPOST_BUDGET": "4/s"}


def children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def import_by_three(processes: Processes, **more: str) -> tuple[Running, list[int]]:
    provider = processes.simulator("--places", "1500")
    env = SLOW | {"WAYPOST_OCM_URL": provider} | more
    running = processes.start("import", "run", "--country", COUNTRIES, "--processes", "3", env=env)
    running.wait_for(r"^\d+/5 shards \([1-9]")
    return running, eventually(lambda: len(pids := children(running.process.pid)) == 3 and pids, "three workers")


def test_a_killed_worker_is_replaced_and_the_import_ends(processes: Processes) -> None:
    running, pids = import_by_three(processes)
    for pid in pids[:2]:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(set(children(running.process.pid)) - set(pids)) >= 2, "others in their place")
    assert running.wait() == 0
    assert "another takes its place" in running.rest()
    counters = [job["counters"] for job in processes.json("job", "list", "--status", "done")]
    assert len(counters) == 5
    assert sum(each["added"] for each in counters) == processes.json("place", "count")["places"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 1), (signal.SIGINT, 130)])
def test_asked_to_stop_all_give_their_jobs_back(processes: Processes, number: signal.Signals, code: int) -> None:
    running, pids = import_by_three(processes, **LONG)
    running.signal(number)
    assert running.wait() == code
    assert not [pid for pid in pids if is_alive(pid)]
    assert processes.json("job", "list", "--status", "leased") == []
    assert processes.json("job", "list", "--status", "pending") != []


def test_when_it_is_killed_itself_its_workers_end_too(processes: Processes) -> None:
    running, pids = import_by_three(processes, **LONG)
    running.signal(signal.SIGKILL)
    eventually(lambda: not [pid for pid in pids if is_alive(pid)], "the workers are gone")
    assert processes.json("job", "list", "--status", "leased") == []


def test_a_provider_that_forbids_us_stops_all_of_them(processes: Processes) -> None:
    provider = processes.simulator("--places", "300", "--ban-after", "3")
    env = SLOW | {"WAYPOST_OCM_URL": provider, "WAYPOST_IMPORT_PAGE_SIZE": "5"}
    done = processes.run("import", "run", "--country", COUNTRIES, "--processes", "2", env=env)
    assert done.returncode == 1
    assert "refuses our key (403)" in done.stderr
    assert "waypost job revive" in done.stderr


def test_its_last_line_is_the_report_and_those_before_are_events(processes: Processes) -> None:
    provider = processes.simulator("--places", "100")
    env = {"WAYPOST_OCM_URL": provider, "WAYPOST_BUDGET": "100/s"}
    done = processes.run("import", "run", "--country", COUNTRIES, "--json", "--processes", "2", env=env)
    *events, report = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    assert {event["event"] for event in events} == {"progress"}
    assert events[-1]["shards_done"] == events[-1]["shards_total"] == 5
    assert report["shards"] == {"done": 5}
