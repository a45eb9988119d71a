"""The parts of a run, in turns, so that whatever else the machine does strikes everybody alike."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import msgspec

from bench.importing.provider import Provider, simulated, warm_up
from bench.importing.stores import Store, fresh_store
from bench.importing.systems import System, Waypost
from bench.importing.watching import RunFailed, watch
from bench.jobs.database import Server, durable_postgres

Say = Callable[[str], None]


@dataclass(frozen=True)
class Import:
    """`seconds` by its own count, without starting Python; `written` are rows in tables of places."""

    places: int
    seconds: float
    wall_seconds: float
    cpu_seconds: float
    server_cpu: float
    peak: float
    written: int

    @property
    def per_second(self) -> float:
        return self.places / self.seconds

    @property
    def cpu_per_place(self) -> tuple[float, float]:
        """Microseconds of its own processes and of the server."""
        return self.cpu_seconds / self.places * 1e6, self.server_cpu / self.places * 1e6


@dataclass(frozen=True)
class Case:
    """A system on a store: PostgreSQL, or SQLite without a server; `twice` imports the same again."""

    name: str
    system: System
    server: Server | None
    twice: bool = True


@dataclass(frozen=True)
class Found:
    first: Import
    again: Import | None


def measure(cases: Sequence[Case], provider: Provider, *, rounds: int, say: Say) -> dict[str, Found]:
    """The middle one of several, each into a fresh store."""
    firsts: dict[str, list[Import]] = {case.name: [] for case in cases}
    agains: dict[str, list[Import]] = {case.name: [] for case in cases}
    for turn in range(rounds):
        for case in cases:
            with fresh_store(case.server) as store:
                case.system.prepare(store)
                firsts[case.name].append(_bring(case.system, provider, store, again=False))
                if case.twice:
                    agains[case.name].append(_bring(case.system, provider, store, again=True))
            say(f"round {turn + 1}: {case.name} {firsts[case.name][-1].per_second:,.0f} places/s")
    return {
        name: Found(_middle(found), _middle(agains[name]) if agains[name] else None) for name, found in firsts.items()
    }


def by_cores(places: int, counts: Sequence[int], *, rounds: int, say: Say) -> dict[str, dict[int, Import]]:
    """By store and number of cores: a worker process for each core, and provider and server on the same cores."""
    found: dict[str, dict[int, Import]] = {"PostgreSQL": {}, "SQLite": {}}
    allowed = sorted(os.sched_getaffinity(0))
    for cores in (count for count in counts if count <= len(allowed)):
        with _only(allowed[:cores]), durable_postgres() as server, simulated(places) as provider:
            warm_up(provider)
            for store, where in {"PostgreSQL": server, "SQLite": None}.items():
                name = f"{store}, {cores} cores"
                case = Case(name, Waypost(cores), where, twice=False)
                found[store][cores] = measure([case], provider, rounds=rounds, say=say)[name].first
    return found


@contextmanager
def _only(cores: Sequence[int]) -> Iterator[None]:
    """Whatever is started meanwhile inherits it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def peaks(server: Server, places: int, *, say: Say) -> dict[str, float]:
    """MiB that one process of Waypost takes for so many places, by store."""
    found = {}
    with simulated(places) as provider:
        for name, where in {"PostgreSQL": server, "SQLite": None}.items():
            with fresh_store(where) as store:
                Waypost().prepare(store)
                found[name] = _bring(Waypost(), provider, store, again=False).peak
            say(f"{places:,} places into {name}: {found[name]:.0f} MiB")
    return found


def _bring(system: System, provider: Provider, store: Store, *, again: bool) -> Import:
    store.settle()
    cpu, written = store.cpu_seconds(), store.rows_written()
    taken = watch(
        system.command(provider, store, again=again), folder=store.folder, env=system.environ(provider, store)
    )
    report: dict[str, Any] = msgspec.json.decode(taken.said)
    if system.places(report) != provider.places:
        raise RunFailed(f"{system.name} brought {system.places(report)} of {provider.places} places")
    return Import(
        places=provider.places,
        seconds=report["seconds"],
        wall_seconds=taken.wall_seconds,
        cpu_seconds=taken.cpu_seconds,
        server_cpu=store.cpu_seconds() - cpu,
        peak=taken.peak,
        # SQLite does not count them; there, Waypost is alone and does.
        written=report["added"] + report["changed"] if written is None else (store.rows_written() or 0) - written,
    )


def _middle(found: Sequence[Import]) -> Import:
    seconds = median_low(each.seconds for each in found)
    return next(each for each in found if each.seconds == seconds)
