"""The parts of a run, each of them interleaved, so that whatever else the machine does strikes everybody alike."""

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.jobs.backlog import fill
from bench.jobs.children import install, python_of
from bench.jobs.database import Server
from bench.jobs.measures import Drain, PickUp, Place, drain, pick_up
from support.servers.private import private_mongod, private_redis

Say = Callable[[str], None]


@dataclass(frozen=True)
class Compared:
    """One system: the drain that was the middle one of several, and its pick-ups."""

    system: str
    drain: Drain
    pick_up: PickUp


def place_on(server: Server, system: str, name: str | None = None) -> Place:
    database = server.new_database(name or system)
    python = python_of(system)
    assert python
    install(python, system, database.client_url)
    return Place(python, system, database.worker_url, database.client_url, database)


def compare(
    server: Server, systems: Sequence[str], jobs: dict[str, int], *, rounds: int, times: int, say: Say
) -> list[Compared]:
    places = {system: place_on(server, system) for system in systems}
    drains: dict[str, list[Drain]] = {system: [] for system in systems}
    for turn in range(rounds):
        for system, place in places.items():
            drains[system].append(drain(place, jobs=jobs[system], workers=2))
            say(f"round {turn + 1}: {system} {drains[system][-1].drained_per_second:,.0f} jobs/s")
    found = []
    for system, place in places.items():
        found.append(Compared(system, middle(drains[system]), pick_up(place, times=times, workers=2)))
        say(f"pick-up: {system} {found[-1].pick_up.p50:.2f} ms")
    return found


def by_workers(server: Server, counts: Sequence[int], *, jobs: int, rounds: int, say: Say) -> dict[int, Drain]:
    places = {count: place_on(server, "waypost", f"workers_{count}") for count in counts}
    drains: dict[int, list[Drain]] = {count: [] for count in counts}
    for _ in range(rounds):
        for count, place in places.items():
            drains[count].append(drain(place, jobs=jobs, workers=count))
            say(f"{count} workers: {drains[count][-1].drained_per_second:,.0f} jobs/s")
    return {count: middle(each) for count, each in drains.items()}


def by_finished(server: Server, counts: Sequence[int], *, jobs: int, rounds: int, say: Say) -> dict[int, Drain]:
    places = {count: place_on(server, "waypost", f"finished_{count}") for count in counts}
    for count, place in places.items():
        assert place.database
        fill(place.database, up_to=count)
    drains: dict[int, list[Drain]] = {count: [] for count in counts}
    for _ in range(rounds):
        for count, place in places.items():
            drains[count].append(drain(place, jobs=jobs, workers=2))
            say(f"{count:,} finished: {drains[count][-1].drained_per_second:,.0f} jobs/s")
    return {count: middle(each) for count, each in drains.items()}


def other_stores(jobs: dict[str, int], *, times: int, say: Say) -> list[Compared]:
    """Waypost on what is not PostgreSQL."""
    found = []
    for name, opened in {"SQLite": _sqlite, "MongoDB": _mongodb, "Redis": _redis}.items():
        with opened() as url:
            install(sys.executable, "waypost", url)
            place = Place(sys.executable, "waypost", url, url)
            drained = drain(place, jobs=jobs[name], workers=2)
            found.append(Compared(name, drained, pick_up(place, times=times, workers=2)))
            say(f"{name}: {drained.drained_per_second:,.0f} jobs/s")
    return found


def middle(drains: Sequence[Drain]) -> Drain:
    speed = statistics.median_low(each.drained_per_second for each in drains)
    return next(each for each in drains if each.drained_per_second == speed)


@contextmanager
def _sqlite() -> Iterator[str]:
    with TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as folder:
        yield f"sqlite:///{Path(folder) / 'jobs.db'}"


@contextmanager
def _mongodb() -> Iterator[str]:
    with private_mongod() as (url, _server):
        yield url


@contextmanager
def _redis() -> Iterator[str]:
    with private_redis() as (url, _server):
        yield url
