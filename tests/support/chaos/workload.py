"""An import by several real workers, and what its end must look like however it got there."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from threading import Event

import httpx

from support.chaos.evidence import Evidence
from support.chaos.whole_store import StoreEvidence
from support.processes import Processes, Running, eventually
from support.proxy import Proxy
from waypost.bootstrap.jobs import open_job_store
from waypost.bootstrap.schema import migrate_schema
from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import open_stores
from waypost.importing.source import Scope
from waypost.scaling.jobs.job import Job, NewJob
from waypost.settings import load_settings

COUNTRIES = ("DE", "FR", "GB", "NL", "US")
_PAGE = 10
_DAY = date(2026, 2, 21)


class Worker:
    def __init__(self, running: Running) -> None:
        self.running = running

    @cached_property
    def name(self) -> str:
        """Under which it holds leases; it says so when it is at work."""
        return self.running.wait_for(r"worker (\S+) is at work")[1]


@dataclass(frozen=True)
class Expected:
    # For each shard, where each of its pages ends; the last page is empty and ends where the one before did.
    cursors: Mapping[str, list[str]]
    places: set[str]

    @property
    def pages(self) -> int:
        return sum(len(cursors) for cursors in self.cursors.values())


class Workload:
    """Enqueued, but nobody works on it yet."""

    def __init__(
        self,
        processes: Processes,
        provider: str,
        way_there: str,
        stores: Mapping[str, str],
        rng: random.Random,
        *,
        lease: str,
    ) -> None:
        """`way_there` is the provider's address for workers, `stores` the settings of where all is kept."""
        self.rng = rng
        self.workers: list[Worker] = []
        self._processes = processes
        self._is_apart = "WAYPOST_JOBS" in stores
        self._provider = provider
        self._env = {
            "WAYPOST_DATA": str(processes.folder / "data"),
            "WAYPOST_OCM_URL": way_there,
            "WAYPOST_BUDGET": "100/s",
            "WAYPOST_IMPORT_PAGE_SIZE": str(_PAGE),
            "WAYPOST_LEASE": lease,
            "WAYPOST_JOBS_MAX_ATTEMPTS": "1000",
            **stores,
        }
        self._settings = load_settings(environ=self._env)
        self.shards = asyncio.run(self._enqueue())
        self.expected = self._ask_the_provider()
        self.evidence: Evidence | StoreEvidence = (
            StoreEvidence(self._settings, _PAGE)
            if self._settings.storage.on_server
            else Evidence(Path(self._env["WAYPOST_DATA"]) / "waypost.db", apart=self._is_apart)
        )
        self.evidence.start()

    def start_worker(self, env: Mapping[str, str] | None = None) -> Worker:
        command = ("worker", "run", "--until-done", "--concurrency", "3")
        worker = Worker(self._processes.start(*command, env=self._env | dict(env or {})))
        self.workers.append(worker)
        return worker

    def start_workers(self, *envs: Mapping[str, str]) -> None:
        """Returns once all of them are at work."""
        for worker in [self.start_worker(env) for env in envs]:
            assert worker.name

    def leases(self) -> dict[str, dict[str, int]]:
        """By worker: the shards that it holds, and under which fence."""
        held: dict[str, dict[str, int]] = {worker.name: {} for worker in self.workers}
        for job in self.jobs():
            if job.status == "leased" and job.lease_owner:
                held.setdefault(job.lease_owner, {})[job.shard] = job.fence
        return held

    def overtaken(self, leases: Mapping[str, int]) -> bool:
        """Whether somebody else has one of these shards by now, or has finished it."""
        return any(leases.get(job.shard, job.fence) < job.fence for job in self.jobs())

    def jobs(self) -> Sequence[Job]:
        async def ask() -> Sequence[Job]:
            async with open_job_store(self._settings.storage.jobs or self._settings.storage.store_url) as jobs:
                return await jobs.list()

        return asyncio.run(ask())

    def wait_for_pages(self, count: int) -> None:
        """Until so many pages are committed, or all."""
        least = min(count, self.expected.pages)
        eventually(lambda: self.evidence.pages() >= least, f"{least} of {self.expected.pages} pages committed")

    def moments(self, count: int) -> list[int]:
        """Random points in the first two thirds of the work, as numbers of pages committed."""
        return sorted(self.rng.sample(range(1, self.expected.pages * 2 // 3), count))

    def wait_for_moment(self, pages: int) -> None:
        """A random instant after so many pages: within a request, a commit, or between them."""
        self.wait_for_pages(pages)
        Event().wait(self.rng.uniform(0.0, 0.03))

    def finish(self, *, forgetful: bool = False) -> None:
        """Every worker that was not killed ends well, and every job was done exactly once in effect.

        `forgetful` is a job store that may have lost what it acknowledged last.
        """
        for worker in self.workers:
            said = worker.running.rest()
            assert worker.running.wait() == 0, said
            assert "Traceback" not in said, said
            assert not [line for line in said.split("\n") if _tells_of_a_defect(line)], said
        jobs = self.jobs()
        assert Counter(job.status for job in jobs) == {"done": len(self.shards)}, jobs
        self.evidence.check(dict(self.expected.cursors), self.expected.places, forgetful=forgetful)
        added = sum(job.counters.get("added", 0) for job in jobs)
        # Apart from the places, what a worker counted on its last page may be lost with it; nothing is counted twice.
        assert added <= len(self.expected.places) if self._is_apart else added == len(self.expected.places)

    def forget(self, worker: Worker) -> None:
        """It was killed, and nothing is expected of it any more."""
        self.workers.remove(worker)

    async def _enqueue(self) -> list[str]:
        await migrate_schema(self._settings)
        async with open_stores(self._settings) as stores, open_source("ocm", self._settings) as source:
            shards = [str(shard) for shard in source.plan(Scope(countries=COUNTRIES), _DAY)]
            await stores.jobs.enqueue([NewJob(shard) for shard in shards])
        return shards

    def _ask_the_provider(self) -> Expected:
        cursors: dict[str, list[str]] = {}
        places: set[str] = set()
        for shard in self.shards:
            country = shard.removeprefix("ocm/country:")[:2]
            answer = httpx.get(f"{self._provider}/v3/poi", params={"countrycode": country, "maxresults": 10000})
            ids = sorted(record["ID"] for record in answer.json())
            ends = [f"after:{ids[min(start + _PAGE, len(ids)) - 1]}" for start in range(0, len(ids), _PAGE)]
            cursors[shard] = [*ends, ends[-1]]
            places |= {f"ocm:{number}" for number in ids}
        return Expected(cursors, places)


def _tells_of_a_defect(line: str) -> bool:
    """A future that a driver forgot when its connection was cut is noise; a task of ours that ended is not."""
    return '"level": "error"' in line and "Future exception was never retrieved" not in line


@contextmanager
def workload(folder: Path, jobs_url: str, seed: int, *, lease: str = "1s", store_url: str = "") -> Iterator[Workload]:
    """When a drill fails, its error says with which seed, and what the workers said."""
    stores = {"WAYPOST_JOBS": jobs_url, "WAYPOST_STORE": store_url}
    given = {name: url for name, url in stores.items() if url}
    with Processes(folder) as processes:
        provider = processes.simulator("--places", "1200")
        with Proxy(httpx.URL(provider).port or 80) as far_away:
            # So that workers are mostly met with a question asked and its answer not yet committed.
            far_away.delay(0.05)
            load = Workload(
                processes, provider, f"http://127.0.0.1:{far_away.port}", given, random.Random(seed), lease=lease
            )
            try:
                yield load
            except BaseException as error:
                error.add_note(f"the drill's seed was {seed}")
                for worker in load.workers:
                    error.add_note(f"worker {worker.running.process.pid}: {'; '.join(worker.running.lines[-20:])}")
                raise
