"""`make bench-jobs`: the whole comparison, or with `--small` a quick look at whether it still runs."""

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from bench.jobs import report, runs
from bench.jobs.children import python_of
from bench.jobs.database import SETTINGS, Server, durable_postgres
from bench.jobs.renewals import hot_share
from bench.jobs.systems import SYSTEMS

_RESULTS = Path(__file__).parent / "RESULTS.md"
# Each long enough to last for some seconds where it is quick, and not for minutes where it is not.
_JOBS = {"waypost": 60_000, "floor": 100_000, "pgqueuer": 40_000, "procrastinate": 2_000, "oban": 10_000}
_JOBS_ELSEWHERE = {"SQLite": 10_000, "MongoDB": 5_000, "Redis": 20_000}
_WORKERS = (1, 2, 4, 8)
_FINISHED = (10_000, 1_000_000)
_FINISHED_FULL = (*_FINISHED, 5_000_000)
_WHY_NOT = {"oban": "it needs Python 3.12 or newer, and none was found (PYTHON312=/path/to/python3.12)"}

_EXPLANATION = """\
No-op jobs, two worker processes each, in one run and in turns. Read the ratios: figures change with the machine.

- *Drained*: from the end of the one call that enqueues many, while the workers are idle, to the last one done.
- *Pick-up*: from the call that enqueues one job, while the workers are idle, to the start of its handler; 200 times.
- *CPU*: of the workers and the server together.
- *Floor*: a bare loop that claims and completes with fences, and has nothing else of a queue.
- Before each measurement every table is vacuumed and analysed, as the server does by itself every minute.
- PgQueuer takes 1000 at a time (its default is 10), Procrastinate and Oban work on many at once."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _available() -> list[str]:
    found = [system for system in SYSTEMS if python_of(system)]
    for system in set(SYSTEMS) - set(found):
        _say(f"{system} is left out: {_WHY_NOT.get(system, 'it is not installed; `make bench-jobs` does that')}")
    return found


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{os.cpu_count()} cores, {memory:.0f} GB of memory, Python {platform.python_version()}, load before {load}"


def _whole(server: Server, *, full: bool) -> list[str]:
    found = runs.compare(server, _available(), _JOBS, rounds=5, times=200, say=_say)
    hot = hot_share(server.new_database("renewals"))
    workers = runs.by_workers(server, _WORKERS, jobs=_JOBS["waypost"], rounds=3, say=_say)
    finished = runs.by_finished(
        server, _FINISHED_FULL if full else _FINISHED, jobs=_JOBS["waypost"], rounds=3, say=_say
    )
    elsewhere = runs.other_stores(_JOBS_ELSEWHERE, times=100, say=_say)
    return [
        report.ratios(found),
        report.figures(found),
        f"HOT share of renewals: {hot:.0%}",
        report.by_count(workers, "worker processes"),
        report.by_count(finished, "finished jobs in the table"),
        report.stores(elsewhere),
    ]


def _small(server: Server, jobs: int) -> list[str]:
    systems = ["waypost", "floor"]
    found = runs.compare(server, systems, dict.fromkeys(systems, jobs), rounds=1, times=5, say=_say)
    return [report.ratios(found), report.figures(found)]


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.jobs", description=__doc__)
    options.add_argument("--full", action="store_true", help="also with five million finished jobs")
    options.add_argument("--small", type=int, metavar="JOBS", help="Waypost and the floor alone, and write nothing")
    chosen = options.parse_args()
    machine = _machine()
    with durable_postgres() as server:
        parts = _small(server, chosen.small) if chosen.small else _whole(server, full=chosen.full)
    print("\n\n".join(parts))
    if not chosen.small:
        _RESULTS.write_text(_document(parts, machine), encoding="utf-8")
        _say(f"written to {_RESULTS}")


def _document(parts: list[str], machine: str) -> str:
    command = f"make bench-jobs{' BENCH_FULL=1' if '--full' in sys.argv else ''}"
    settings = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    made = f"{datetime.now(UTC):%Y-%m-%d}, `{command}`, on {machine}. PostgreSQL: {settings}."
    return "\n\n".join(["# Jobs, side by side", made, _EXPLANATION, *parts]) + "\n"


if __name__ == "__main__":
    main()
