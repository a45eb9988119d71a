"""Runs an import to its end: plans it, enqueues it, works on it and reports."""

import asyncio
import os
import random
import socket
from collections.abc import Callable

from waypost.bootstrap import Stores, open_budget, open_jobs, open_source
from waypost.importing.engine import Engine
from waypost.importing.imports import ImportStatus, Report, report
from waypost.importing.plan import Plan, describe
from waypost.importing.progress import Progress, measure
from waypost.importing.source import Scope, Source
from waypost.kernel.clock import monotonic, utc_now
from waypost.kernel.errors import Forbidden, TerminalError
from waypost.kernel.ids import new_id
from waypost.kernel.tasks import end
from waypost.roles.running import Stop
from waypost.roles.starting import start_import
from waypost.scaling.jobs.job import Tally
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.worker import Worker
from waypost.scaling.ratelimit.budget import Budget
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("import")

OnProgress = Callable[[Progress], None]

_PROGRESS_SECONDS = 0.25
# In a refresh that is only planned: the id that its import will get.
IMPORT_ID = "IMPORT-ID"


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{new_id().hex[-6:]}"


async def plan(settings: Settings, source: str, scope: Scope) -> Plan:
    """What an import over this scope would do, without a store or a request."""
    async with open_source(source, settings) as opened:
        shards = opened.plan(scope, utc_now().date(), IMPORT_ID)
        return describe(opened.name, shards, settings.budget.ocm)


class JobsLost(TerminalError):
    """Jobs were enqueued and are gone: the store was flushed, or restored from an older state."""

    slug = "jobs-lost"


class Importer:
    """One import over a scope. `owner` is the name its leases are held under."""

    def __init__(self, settings: Settings, stores: Stores, source: Source, *, owner: str) -> None:
        self._settings = settings
        self._stores = stores
        self._source = source
        self._owner = owner

    async def run(self, scope: Scope, stop: Stop, on_progress: OnProgress) -> Report:
        """Raises what the provider's refusal was, after writing down how far it got."""
        async with open_budget(self._settings) as budget:
            return await self._run(scope, budget, stop, on_progress)

    async def _run(self, scope: Scope, budget: Budget, stop: Stop, on_progress: OnProgress) -> Report:
        started = monotonic()
        enqueued = await stop.interrupting(start_import(self._settings, self._stores, self._source, budget, scope))
        import_id = enqueued.id
        before = await self._stores.jobs.tally(import_id)
        watching = asyncio.create_task(self._watch(import_id, before, started, on_progress))
        try:
            await self._work(import_id, budget, stop)
        finally:
            await end(watching)
            after = await self._stores.jobs.tally(import_id)
            await self._stores.imports.finish(import_id, _status(after))
            on_progress(self._measure(after, before, started))
        if after.total < enqueued.shards:
            raise JobsLost(
                f"the job store has lost {enqueued.shards - after.total} of this import's {enqueued.shards} jobs",
                next_step="find out why it forgets, then start the import again: the places know how far they are",
            )
        return report(import_id, after, monotonic() - started)

    async def _work(self, import_id: str, budget: Budget, stop: Stop) -> None:
        jobs = self._settings.jobs
        engine = Engine(self._source, self._stores.pages, budget, max_wait=self._settings.budget.max_wait)
        with Renewer(lambda: open_jobs(self._settings), jobs.lease) as renewer:
            rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
            worker = Worker(self._stores.jobs, renewer, engine.work, owner=self._owner, settings=jobs, rng=rng)
            stopping = asyncio.create_task(_stop_when_asked(worker, stop))
            try:
                await worker.run_until_done(import_id)
            except Forbidden as refusal:
                # The shard that met it is dead; with the rest the import goes on by itself.
                refusal.next_step = f"{refusal.next_step}, after: waypost job revive --all"
                raise
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
