"""The drills. Each does something terrible to the workers of an import, or to what they stand on."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from support.chaos.acknowledging import write_through
from support.chaos.clocks import wrong_clock
from support.chaos.evidence import Evidence
from support.chaos.stores import JOBS, OWN_SERVERS
from support.chaos.workload import Worker, Workload, workload
from support.processes import eventually
from support.proxy import BOTH_WAYS, Proxy, Way
from support.servers.failover import FAILOVERS, Failover
from support.servers.private import PrivateServer

_HOUR = 3600.0
# How long a stopped worker stays stopped, at most; with a lease of half a second it is past it in time.
_STOPPED_SECONDS = 2.0
_DROPPED: tuple[frozenset[Way], ...] = (BOTH_WAYS, frozenset({"requests"}), frozenset({"replies"}))


def workers_are_killed(folder: Path, backend: str, seed: int, workers: int) -> None:
    """SIGKILL at random points, each time with a new worker in its place."""
    with JOBS[backend]() as jobs, workload(folder, jobs.url, seed) as load:
        load.start_workers(*[{}] * workers)
        for moment in load.moments(workers):
            load.wait_for_moment(moment)
            _kill(load, load.rng.choice(load.workers))
            load.start_worker()
        load.finish()


def workers_are_stopped(folder: Path, backend: str, seed: int, workers: int) -> None:
    """SIGSTOP past the lease, until another has the shard, and SIGCONT: the stopped one still believes it holds it."""
    with JOBS[backend]() as jobs, workload(folder, jobs.url, seed, lease="500ms") as load:
        load.start_workers(*[{}] * workers)
        overtaken = 0
        for moment, stop in zip(load.moments(6), [_stop_before_a_commit, _stop] * 3, strict=True):
            load.wait_for_moment(moment)
            overtaken += _is_overtaken(load, stop)
            if overtaken == workers:
                break
        load.finish()
        assert overtaken, "no stopped worker was overtaken, so that nothing was tried"


def _is_overtaken(load: Workload, stop: Callable[[Workload, Worker], None]) -> bool:
    """Stop a worker past its lease. Nobody can overtake one that has just locked the file with the places."""
    held = load.leases()
    holders = [worker for worker in load.workers if held[worker.name]]
    if not holders:
        return False
    worker = load.rng.choice(holders)
    stop(load, worker)
    try:
        give_up = time.monotonic() + _STOPPED_SECONDS
        leases = load.leases()[worker.name]
        while leases and time.monotonic() < give_up:
            if load.overtaken(leases):
                return True
        return False
    finally:
        worker.running.signal(signal.SIGCONT)


def _stop(_load: Workload, worker: Worker) -> None:
    worker.running.signal(signal.SIGSTOP)


def _stop_before_a_commit(load: Workload, worker: Worker) -> None:
    """The first thing that it does when it goes on is to try and write a page."""
    assert isinstance(load.evidence, Evidence)
    with load.evidence.nobody_commits():
        Event().wait(load.rng.uniform(0.1, 0.25))
        worker.running.signal(signal.SIGSTOP)


def the_network_fails(folder: Path, backend: str, seed: int, workers: int) -> None:
    """All workers but one reach the job store through a network that drops, delays, cuts and refuses."""
    with JOBS[backend]() as jobs, ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(jobs.port)) for _ in range(workers - 1)]
        load = stack.enter_context(workload(folder, jobs.url, seed))
        load.start_workers({}, *({"WAYPOST_JOBS": jobs.through(proxy.port)} for proxy in proxies))
        faults = [_drop, _delay, _cut, _refuse]
        load.rng.shuffle(faults)
        for moment, fault in zip(load.moments(len(faults)), faults, strict=True):
            load.wait_for_moment(moment)
            fault(load, load.rng.choice(proxies))
        load.finish()


def _drop(load: Workload, proxy: Proxy) -> None:
    before = proxy.swallowed
    proxy.drop(load.rng.choice(_DROPPED))
    eventually(lambda: proxy.swallowed > before, "something was sent and did not arrive")
    load.wait_for_pages(load.evidence.pages() + load.rng.randrange(20))
    proxy.heal()


def _delay(load: Workload, proxy: Proxy) -> None:
    proxy.delay(load.rng.uniform(0.02, 0.6))
    load.wait_for_pages(load.evidence.pages() + load.rng.randrange(20))
    proxy.heal()


def _cut(_load: Workload, proxy: Proxy) -> None:
    proxy.cut()


def _refuse(load: Workload, proxy: Proxy) -> None:
    proxy.refuse()
    load.wait_for_pages(load.evidence.pages() + load.rng.randrange(20))
    proxy.heal()


def clocks_are_wrong(folder: Path, backend: str, seed: int, workers: int) -> None:
    """A worker with the right clock is killed; others, an hour ahead and an hour behind, take over what it held.

    By their own clocks its leases would be over at once, or not for an hour; and those ahead would take each shard
    from those behind.
    """
    with JOBS[backend]() as jobs, workload(folder, jobs.url, seed, lease="2s") as load:
        shifts = [_HOUR, -_HOUR] * workers
        clocks = [wrong_clock(folder, shift) for shift in shifts[:workers]]
        for clock, shift in zip(clocks[:2], shifts, strict=False):
            assert abs(_time_of_a_process_with(clock) - time.time() - shift) < 60
        first = load.start_worker()
        [moment] = load.moments(1)
        load.wait_for_moment(moment)
        held = len(load.leases()[first.name])
        _kill(load, first)
        load.start_workers(*clocks)
        load.finish()
        # With some room for a machine that is too busy to renew in time.
        assert sum(job.attempts_total for job in load.jobs()) <= len(load.shards) + held + 2


def the_store_restarts(folder: Path, backend: str, seed: int, workers: int) -> None:
    """The server with the jobs is killed and comes back on the same data."""
    with OWN_SERVERS[backend]() as (url, server), workload(folder, url, seed) as load:
        load.start_workers(*[{}] * workers)
        for moment in load.moments(2):
            load.wait_for_moment(moment)
            _restart(server)
        load.finish()


def another_server_takes_over(folder: Path, backend: str, seed: int, workers: int) -> None:
    """The master of a Redis with the jobs and budgets is killed for good, and its replica takes over."""
    with FAILOVERS[backend]() as failover, workload(folder, failover.url, seed) as load:
        # Redis acknowledges before its replicas have it.
        _work_through(load, failover, workers, forgetful=True)


def the_whole_store_fails_over(folder: Path, backend: str, seed: int, workers: int) -> None:
    """The same with places, jobs, budgets and events in one store."""
    with FAILOVERS[backend]() as failover, workload(folder, "", seed, store_url=failover.url) as load:
        _work_through(load, failover, workers, forgetful=False)


def writers_lose_the_primary(_folder: Path, backend: str, seed: int, workers: int) -> None:
    """Writers enqueue as fast as they can, and the primary is killed among them."""
    with FAILOVERS[backend]() as failover:
        asyncio.run(write_through(failover, random.Random(seed), workers))


def _work_through(load: Workload, failover: Failover, workers: int, *, forgetful: bool) -> None:
    load.start_workers(*[{}] * workers)
    [moment] = load.moments(1)
    load.wait_for_moment(moment)
    failover.lose_the_primary()
    assert load.evidence.pages() < load.expected.pages, "all was done before, so that nothing was tried"
    load.finish(forgetful=forgetful)


def _restart(server: PrivateServer) -> None:
    server.kill()
    server.start()


def _kill(load: Workload, worker: Worker) -> None:
    worker.running.signal(signal.SIGKILL)
    worker.running.wait()
    load.forget(worker)


def _time_of_a_process_with(env: dict[str, str]) -> float:
    say = "import time; from waypost.kernel.clock import utc_now as n; print(min(n().timestamp(), time.time()))"
    done = subprocess.run([sys.executable, "-c", say], env=os.environ | env, capture_output=True, text=True, check=True)
    return float(done.stdout)


# In a folder, on a backend, with a seed, with so many workers.
Drill = Callable[[Path, str, int, int], None]

SERVERS = ("postgres", "mongodb", "redis")
# SQLite is a file of the worker's own machine: no network to fail, no server to restart, and no clock but the worker's.
DRILLS: tuple[tuple[Drill, tuple[str, ...]], ...] = (
    (workers_are_killed, ("sqlite", *SERVERS)),
    (workers_are_stopped, ("sqlite", *SERVERS)),
    (the_network_fails, SERVERS),
    (clocks_are_wrong, SERVERS),
    (the_store_restarts, SERVERS),
    (another_server_takes_over, ("redis-sentinel", "redis-cluster")),
    (the_whole_store_fails_over, ("postgres", "mongodb")),
    (writers_lose_the_primary, ("postgres", "mongodb")),
)
CASES: tuple[tuple[Drill, str], ...] = tuple((drill, backend) for drill, backends in DRILLS for backend in backends)
