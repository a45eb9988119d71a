"""`make bench-budget`: the whole comparison, or with `--small` a quick look at whether it still runs."""

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from redis import Redis

from bench.budget import picture, report
from bench.budget.drill import Drill, Setting, drill
from bench.budget.latency import Latency, latency
from bench.budget.systems import PEERS, WAYPOST, System
from support.servers.private import private_redis

_RESULTS = Path(__file__).parent / "RESULTS.md"
_PICTURE = Path(__file__).parents[2] / "docs/images/budget-arrivals.svg"
_WHOLE = Setting(rate=50, seconds=20, processes=8, workers_each=8)
_SMALL = Setting(rate=50, seconds=1, processes=2, workers_each=4)
_ROUNDS = 2
_TIMES, _TIMES_SMALL = 4_000, 200

_EXPLANATION = """\
64 workers in 8 processes share 50 requests a second for 20 s, each asking again as soon as it is answered; all systems
in one run and in turns, on one Redis that writes to disk before it answers. Read the ratios: figures change with the
machine.

- *Arrived*: noted by the provider, an HTTP server in a process of its own. *Granted*: when the worker was told to go.
- *In any second*: of all windows of one second, wherever they begin, the fullest.
- *Calls*: what clients send, by Redis' own count; what runs inside a script is not counted, connecting is.
- *Served*: requests of one worker, of what each would have if all had the same.
- *Uncontended*: `acquire` with nobody else there and `PING`, in turns, by the same driver, on Redis as it comes, which
  does not write to disk.
- throttled-py runs GCRA and waits, pyrate-limiter its bucket on Redis and waits, limits a moving window and waits
  until the time it names. They let 50 come at once, which is within their reading of the limit; throttled-py also runs
  without a burst, which spaces requests as Waypost does."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{os.cpu_count()} cores, {memory:.0f} GB of memory, Python {platform.python_version()}, load before {load}"


def _available() -> list[System]:
    for system in PEERS:
        if not system.is_installed:
            _say(f"{system.name} is left out: it is not installed; `make bench-budget` does that")
    return [WAYPOST, *(system for system in PEERS if system.is_installed)]


def _latency(url: str, times: int) -> Latency:
    """On Redis as it comes."""
    with Redis.from_url(url, socket_timeout=10) as redis:
        redis.config_set("appendonly", "no")
        try:
            found = latency(url, times)
        finally:
            redis.config_set("appendonly", "yes")
    _say(f"uncontended: {found.ratio:.2f} round trips")
    return found


def _compare(
    url: str, systems: list[System], setting: Setting, *, rounds: int, times: int
) -> tuple[dict[str, list[Drill]], list[Latency]]:
    drills: dict[str, list[Drill]] = {system.name: [] for system in systems}
    latencies = [_latency(url, times)]
    for turn in range(rounds):
        for system in systems:
            drills[system.name].append(drill(system, url, setting))
            _say(f"round {turn + 1}: {system.name} {drills[system.name][-1].used:.1%} of the rate")
        latencies.append(_latency(url, times))
    return drills, latencies


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.budget", description=__doc__)
    options.add_argument("--small", action="store_true", help="Waypost alone for a second, and write nothing")
    small = options.parse_args().small
    on = _machine()
    with private_redis() as (url, _server):
        if small:
            drills, latencies = _compare(url, [WAYPOST], _SMALL, rounds=1, times=_TIMES_SMALL)
        else:
            drills, latencies = _compare(url, _available(), _WHOLE, rounds=_ROUNDS, times=_TIMES)
    ours = drills[WAYPOST.name]
    parts = [
        report.promises(ours, latencies),
        *([] if small else [report.ratios(drills)]),
        report.figures(drills),
        report.latency(latencies),
    ]
    print("\n\n".join(parts))
    if not small:
        _RESULTS.write_text(_document(parts, on), encoding="utf-8")
        _PICTURE.write_text(picture.draw([rounds[-1] for rounds in drills.values()]), encoding="utf-8")
        _say(f"written to {_RESULTS} and {_PICTURE}")


def _document(parts: list[str], on: str) -> str:
    made = f"{datetime.now(UTC):%Y-%m-%d}, `make bench-budget`, on {on}."
    drawn = "![Arrivals at the provider in each tenth of a second](../../docs/images/budget-arrivals.svg)"
    return "\n\n".join(["# Budgets, side by side", made, _EXPLANATION, drawn, *parts]) + "\n"


if __name__ == "__main__":
    main()
