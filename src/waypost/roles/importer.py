"""Runs an import to its end: plans it, enqueues it, works on it and reports."""

import asyncio
import os
import random
import socket
from collections.abc import Callable
from contextlib import suppress

from waypost.bootstrap import Stores, open_jobs
from waypost.importing.engine import Engine
from waypost.importing.imports import Import, ImportStatus, Report, report
from waypost.importing.progress import Progress, measure
from waypost.importing.source import Scope, Source
from waypost.kernel.clock import monotonic, utc_now
from waypost.kernel.ids import new_id
from waypost.roles.running import Stop
from waypost.scaling.jobs.job import NewJob, Tally
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.worker import Worker
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("import")

OnProgress = Callable[[Progress], None]

_PROGRESS_SECONDS = 0.25
PROVIDER = "provider"


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{new_id().hex[-6:]}"


class Importer:
    """One import over a scope. `owner` is the name its leases are held under."""

    def __init__(self, settings: Settings, stores: Stores, source: Source, *, owner: str) -> None:
        self._settings = settings
        self._stores = stores
        self._source = source
        self._owner = owner

    async def run(self, scope: Scope, stop: Stop, on_progress: OnProgress) -> Report:
        """Raises what the provider's refusal was, after writing down how far it got."""
        await self._stores.budget.acquire(self._source.budget_key, max_wait=self._settings.budget.max_wait)
        await self._source.check()
        import_id, started = str(new_id()), monotonic()
        await self._enqueue(import_id, scope)
        before = await self._stores.jobs.tally(import_id)
        watching = asyncio.create_task(self._watch(import_id, before, started, on_progress))
        try:
            await self._work(import_id, stop)
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            after = await self._stores.jobs.tally(import_id)
            await self._stores.imports.finish(import_id, _status(after))
            on_progress(self._measure(after, before, started))
        return report(import_id, after, monotonic() - started)

    async def _enqueue(self, import_id: str, scope: Scope) -> None:
        now = utc_now()
        shards = self._source.plan(scope, now.date())
        if await self._stores.facts.get(PROVIDER) is None:
            await self._stores.facts.set(PROVIDER, self._source.provider)
        await self._stores.imports.start(Import(import_id, self._source.name, scope, "running", now))
        await self._stores.jobs.enqueue([NewJob(str(shard)) for shard in shards], group=import_id)

    async def _work(self, import_id: str, stop: Stop) -> None:
        jobs = self._settings.jobs
        engine = Engine(self._source, self._stores.pages, self._stores.budget, max_wait=self._settings.budget.max_wait)
        with Renewer(lambda: open_jobs(self._settings), jobs.lease) as renewer:
            rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
            worker = Worker(self._stores.jobs, renewer, engine.work, owner=self._owner, settings=jobs, rng=rng)
            stopping = asyncio.create_task(_stop_when_asked(worker, stop))
            try:
                await worker.run_until_done(import_id)
            finally:
                stopping.cancel()

    async def _watch(self, import_id: str, before: Tally, started: float, on_progress: OnProgress) -> None:
        while True:
            on_progress(self._measure(await self._stores.jobs.tally(import_id), before, started))
            await asyncio.sleep(_PROGRESS_SECONDS)

    def _measure(self, tally: Tally, before: Tally, started: float) -> Progress:
        return measure(
            tally,
            elapsed=monotonic() - started,
            finished_before=before.total - before.unfinished,
            limits=self._settings.budget.ocm,
        )


async def _stop_when_asked(worker: Worker, stop: Stop) -> None:
    await stop.wait()
    worker.stop()


def _status(tally: Tally) -> ImportStatus:
    if tally.unfinished:
        return "cancelled"
    return "failed" if tally.jobs.get("dead") else "done"
