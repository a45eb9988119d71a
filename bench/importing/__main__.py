"""`make bench-import`: the whole comparison, or with `--small` a quick look at whether it still runs."""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.importing import report
from bench.importing.provider import simulated, warm_up
from bench.importing.runs import Case, Found, by_cores, measure, peaks
from bench.importing.systems import FLOOR, PEERS, WAYPOST, Program, Waypost
from bench.jobs.database import SETTINGS, Server, durable_postgres

_RESULTS = Path(__file__).parent / "RESULTS.md"
_PLACES, _PLACES_FULL = 100_000, 1_000_000
_ROUNDS = 3
_MORE_PROCESSES = (2, 4)
_CORES = (1, 2, 4, 8)

_EXPLANATION = """\
All places of a simulated provider, which runs in a process of its own and has told everything once before, into an
empty store, and then the same again, when nothing has changed; all systems in one run and in turns, the middle of three
rounds. Read the ratios: figures change with the machine, on which the provider and PostgreSQL run too.

- *Places/s*: by each system's own count of seconds, without starting Python; *wall* is with it.
- *CPU*: of the system and of PostgreSQL, without the provider's.
- *Peak*: the most memory that one process of the system had, by the kernel's count.
- *Rows written*: in tables of places, those on the way there included.
- *Waypost*: `waypost import run --processes 1`, with `--refresh` the second time, which also looks for what is gone. It
  makes places of records, keeps the records too, and writes pages under leases and fences, with an event for each page.
- *Floor*: a bare loop with as many requests under way, which keeps ids, records and hashes, and has nothing else of an
  import: no jobs, no places, no deletions, no events.
- *dlt* merges by id with its `upsert` strategy, which writes fewer rows the second time than `delete-insert`, and loads
  with COPY, which needs less memory than `INSERT`. It asks for four countries at once, normalises in one process, loads
  with four threads, 10,000 places a file, and does not compress its files. *Arrow* hands it tables with the record as a
  text, so that it has nothing to normalise; *one JSON column* hands it objects with `max_table_nesting=0`; *nested* is
  what it does by itself: a table for each list.
- *Worker processes*: `--processes`. They share the cores with the provider and PostgreSQL, and their start counts.
- *Cores for everything*: the provider, PostgreSQL and Waypost together may use so many cores, and Waypost has a process
  for each. It shows what a core more brings, which worker processes alone do not when servers need the same cores.
- *Aims*: three times as many places/s as dlt with the record as one JSON column, and near twice that with two worker
  processes. The first is a near thing: half of what a place takes is PostgreSQL's, for its columns, indexes and record.
  The second cannot be seen on two cores that the provider and PostgreSQL need as well. From Arrow tables dlt is quicker
  than we knew when the aims were set, because there it looks at no record at all."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{os.cpu_count()} cores, {memory:.0f} GB of memory, Python {platform.python_version()}, load before {load}"


def _available() -> list[Program]:
    for system in PEERS:
        if not system.is_installed:
            _say(f"{system.name} is left out: it is not installed; `make bench-import` does that")
    return [FLOOR, *(system for system in PEERS if system.is_installed)]


def _cases(server: Server, others: Sequence[Program], more_processes: Sequence[int]) -> list[Case]:
    stores = {"PostgreSQL": server, "SQLite": None}
    return [
        *(Case(f"waypost, {store}", WAYPOST, where) for store, where in stores.items()),
        *(Case(each.name, each, server) for each in others),
        *(
            Case(f"waypost, {store}, {count}", Waypost(count), where, twice=False)
            for count in more_processes
            for store, where in stores.items()
        ),
    ]


def _compare(
    server: Server, places: int, others: Sequence[Program], *, more_processes: Sequence[int], rounds: int, full: bool
) -> list[str]:
    with simulated(places) as provider:
        alone = warm_up(provider)
        _say(f"the provider alone: {alone:,.0f} places/s")
        found = measure(_cases(server, others, more_processes), provider, rounds=rounds, say=_say)
    ours = {store: found[f"waypost, {store}"] for store in ("PostgreSQL", "SQLite")}
    memory = {places: {store: each.first.peak for store, each in ours.items()}}
    if full:
        memory[_PLACES_FULL] = peaks(server, _PLACES_FULL, say=_say)
    return [
        report.promises(ours, memory),
        report.ratios(ours["PostgreSQL"], {each.name: found[each.name] for each in others}),
        report.figures({name: each for name, each in found.items() if each.again}),
        report.again(found),
        report.by_processes({store: _by_processes(found, store, more_processes) for store in ours}),
        f"The provider alone, to one who throws everything away: {alone:,.0f} places/s, of {places:,}.",
    ]


def _by_processes(found: dict[str, Found], store: str, more: Sequence[int]) -> dict[int, Found]:
    return {1: found[f"waypost, {store}"]} | {count: found[f"waypost, {store}, {count}"] for count in more}


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.importing", description=__doc__)
    options.add_argument("--full", action="store_true", help="also how much memory a million places take")
    options.add_argument("--small", type=int, metavar="PLACES", help="so few, once, and write nothing")
    chosen = options.parse_args()
    machine = _machine()
    with durable_postgres() as server:
        if chosen.small:
            parts = _compare(server, chosen.small, _available()[:2], more_processes=(2,), rounds=1, full=False)
        else:
            parts = _compare(
                server, _PLACES, _available(), more_processes=_MORE_PROCESSES, rounds=_ROUNDS, full=chosen.full
            )
    if chosen.small:
        cores = by_cores(chosen.small, _CORES[:1], rounds=1, say=_say)
    else:
        cores = by_cores(_PLACES, _CORES, rounds=_ROUNDS, say=_say)
    parts.append(report.by_cores(cores))
    print("\n\n".join(parts))
    if not chosen.small:
        _RESULTS.write_text(_document(parts, machine), encoding="utf-8")
        _say(f"written to {_RESULTS}")


def _document(parts: list[str], machine: str) -> str:
    command = f"make bench-import{' BENCH_FULL=1' if '--full' in sys.argv else ''}"
    settings = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    made = f"{datetime.now(UTC):%Y-%m-%d}, `{command}`, on {machine}. PostgreSQL: {settings}."
    return "\n\n".join(["# Imports, side by side", made, _EXPLANATION, *parts]) + "\n"


if __name__ == "__main__":
    main()
