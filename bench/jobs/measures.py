"""What is measured. All times are of the machine's one monotonic clock."""

import random
import statistics
import time
from dataclasses import dataclass

from bench.jobs.children import Child, hear_first, started
from bench.jobs.cpu import cpu_seconds
from bench.jobs.database import Database

_SETTLE_SECONDS = 0.5
_WARM_UPS, _WARM_UP_JOBS = 8, 100
_LOOK_SECONDS = 0.005
_IDLE_SECONDS = (0.02, 0.06)


@dataclass(frozen=True)
class Place:
    """Where a system runs: its Python, its name, its store as workers and as clients reach it, and PostgreSQL if so."""

    python: str
    system: str
    worker_url: str
    client_url: str
    database: Database | None = None


@dataclass(frozen=True)
class Drain:
    """A heap of jobs, enqueued in one call while the workers were idle, and done by them."""

    jobs: int
    enqueue_seconds: float
    drain_seconds: float
    statements: int
    worker_cpu: float
    server_cpu: float

    @property
    def drained_per_second(self) -> float:
        return self.jobs / self.drain_seconds

    @property
    def per_second(self) -> float:
        """From the call that enqueues to the last one done."""
        return self.jobs / (self.enqueue_seconds + self.drain_seconds)

    @property
    def statements_per_job(self) -> float:
        return self.statements / self.jobs

    @property
    def cpu_per_job(self) -> tuple[float, float]:
        """Microseconds of the workers and of the server."""
        return self.worker_cpu / self.jobs * 1e6, self.server_cpu / self.jobs * 1e6


@dataclass(frozen=True)
class PickUp:
    """Milliseconds from the call that enqueues one job to the start of its handler."""

    p50: float
    p99: float


def drain(place: Place, *, jobs: int, workers: int) -> Drain:
    _tidy(place)
    with (
        started(place.python, "client", place.system, place.client_url) as [client],
        started(place.python, "worker", place.system, place.worker_url, workers) as working,
    ):
        _warm_up(client)
        target = sum(child.jobs_started for child in working) + jobs
        began, enqueued = client.ask(f"enqueue {jobs}")
        before = _Meter.read(place, working)
        # A store that is asked all the time whether it is empty has less time for work.
        while sum(child.jobs_started for child in working) < target:
            time.sleep(_LOOK_SECONDS)
        [done] = client.ask("wait")
        used = _Meter.read(place, working)
    return Drain(
        jobs,
        (enqueued - began) / 1e9,
        (done - enqueued) / 1e9,
        used.statements - before.statements,
        used.worker_cpu - before.worker_cpu,
        used.server_cpu - before.server_cpu,
    )


def pick_up(place: Place, *, times: int, workers: int) -> PickUp:
    _tidy(place)
    with (
        started(place.python, "client", place.system, place.client_url) as [client],
        started(place.python, "telling-worker", place.system, place.worker_url, workers) as working,
    ):
        time.sleep(_SETTLE_SECONDS)
        waits = [_one(client, working) for _ in range(_WARM_UPS + times)]
    cuts = statistics.quantiles(waits[_WARM_UPS:], n=100, method="inclusive")
    return PickUp(cuts[49], cuts[98])


def _one(client: Child, working: list[Child]) -> float:
    began, _ = client.ask("enqueue 1")
    wait = (int(hear_first(working)) - began) / 1e6
    client.ask("wait")
    # Idle again, and in step with nobody's timer.
    time.sleep(random.uniform(*_IDLE_SECONDS))  # noqa: S311 - guards nothing
    return wait


def _tidy(place: Place) -> None:
    """What the server does by itself within a minute or so; but then it would strike some and spare others."""
    if place.database:
        place.database.value("vacuum (analyze)")
        place.database.value("checkpoint")


def _warm_up(client: Child) -> None:
    """Until every statement has been planned for good, and every worker listens."""
    time.sleep(_SETTLE_SECONDS)
    for _ in range(_WARM_UPS):
        client.ask(f"enqueue {_WARM_UP_JOBS}")
        client.ask("wait")
    time.sleep(_SETTLE_SECONDS)


@dataclass(frozen=True)
class _Meter:
    statements: int
    worker_cpu: float
    server_cpu: float

    @classmethod
    def read(cls, place: Place, working: list[Child]) -> "_Meter":
        worker_cpu = cpu_seconds([child.pid for child in working])
        if not place.database:
            return cls(0, worker_cpu, 0.0)
        server_cpu = place.database.cpu_seconds()
        return cls(place.database.worker_statements(), worker_cpu, server_cpu)
