"""Runs an import to its end: plans it, enqueues it, works on it and reports."""

import asyncio
import os
import random
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.jobs import open_jobs
from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import Stores
from waypost.importing.engine import Engine
from waypost.importing.imports import Report, report, status_by_jobs
from waypost.importing.plan import Plan, describe
from waypost.importing.progress import Progress, measure
from waypost.importing.source import Scope, Source
from waypost.kernel.clock import monotonic, utc_now
from waypost.kernel.errors import Forbidden, StoreTrouble, TerminalError
from waypost.kernel.ids import new_id
from waypost.kernel.tasks import end
from waypost.roles.imports import find_import
from waypost.roles.kit.children import Crew, CrewFailed
from waypost.roles.kit.loop import Stop
from waypost.roles.reminding import remind_import
from waypost.roles.starting import Started, start_import
from waypost.scaling.jobs.job import Tally
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.worker import Worker
from waypost.scaling.ratelimit.budget import Budget
from waypost.scaling.ratelimit.limits import Limit
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("import")

OnProgress = Callable[[Progress], None]

_PROGRESS_SECONDS = 0.25
# How often an import whose jobs are lost is enqueued again before a person should find out why.
_REMINDERS = 10
# In a refresh that is only planned: the id that its import will get.
IMPORT_ID = "IMPORT-ID"


def make_engine(settings: Settings, stores: Stores, source: Source, budget: Budget) -> Engine:
    return Engine(
        source, stores.pages, stores.imports, budget, settings=settings.importing, max_wait=settings.budget.max_wait
    )


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{new_id().hex[-6:]}"


async def plan(settings: Settings, source: str, scope: Scope) -> tuple[Plan, Sequence[Limit]]:
    """What an import over this scope would do, without a store or a request; and the limits that it keeps."""
    async with open_source(source, settings) as opened:
        shards = opened.plan(scope, utc_now().date(), IMPORT_ID)
        limits = limits_of(settings, opened)
        return describe(opened.name, shards, limits), limits


def limits_of(settings: Settings, source: Source) -> Sequence[Limit]:
    """None for a source that asks nobody."""
    return settings.budget.limits[source.name] if source.budget_key else ()


class JobsLost(TerminalError):
    """Jobs were enqueued again and again, and are gone: something flushes the store all the time."""

    slug = "jobs-lost"


class Importer:
    """One import over a scope, by this process, or by several others where there is work for more than one.

    `owner` is the name that this process holds leases under.
    """

    def __init__(self, settings: Settings, stores: Stores, source: Source, *, owner: str, processes: int = 1) -> None:
        self._settings = settings
        self._stores = stores
        self._source = source
        self._owner = owner
        self._processes = processes

    async def run(self, scope: Scope, stop: Stop, on_progress: OnProgress) -> Report:
        """Raises what the provider's refusal was, after writing down how far it got."""
        async with open_budget(self._settings) as budget:
            return await self._run(scope, budget, stop, on_progress)

    async def _run(self, scope: Scope, budget: Budget, stop: Stop, on_progress: OnProgress) -> Report:
        started = monotonic()
        enqueued = await stop.interrupting(start_import(self._settings, self._stores, self._source, budget, scope))
        import_id = enqueued.id
        before = await self._stores.jobs.tally(import_id)
        cancelled = asyncio.Event()
        watching = asyncio.create_task(self._watch(import_id, before, started, on_progress, cancelled))
        try:
            await self._work(import_id, budget, stop, cancelled)
            for _ in range(_REMINDERS):
                if stop.is_set() or cancelled.is_set() or not await self._is_forgotten(enqueued):
                    break
                await self._work(import_id, budget, stop, cancelled)
        finally:
            await end(watching)
            after = await self._stores.jobs.tally(import_id)
            await self._write_down(import_id, after)
            on_progress(self._measure(after, before, started))
        if after.total < enqueued.shards and (await find_import(self._stores, import_id)).status == "running":
            raise JobsLost(
                f"the job store has lost {enqueued.shards - after.total} of this import's {enqueued.shards} jobs",
                next_step="find out why it forgets; workers go on with the import, and the places know how far it is",
            )
        return report(import_id, after, monotonic() - started)

    async def _is_forgotten(self, enqueued: Started) -> bool:
        """Whether jobs were lost; then what the places lack is enqueued again."""
        if (await self._stores.jobs.tally(enqueued.id)).total >= enqueued.shards:
            return False
        await remind_import(self._settings, self._stores, await find_import(self._stores, enqueued.id))
        return (await self._stores.jobs.tally(enqueued.id)).unfinished > 0

    async def _work(self, import_id: str, budget: Budget, stop: Stop, cancelled: asyncio.Event) -> None:
        size = min(self._processes, (await self._stores.jobs.tally(import_id)).unfinished)
        if size > 1:
            await self._work_together(import_id, size, stop, cancelled)
        else:
            await self._work_alone(import_id, budget, stop, cancelled)

    async def _write_down(self, import_id: str, tally: Tally) -> None:
        """How it ended. When it was stopped it has not: its jobs are pending, and anybody may go on with them."""
        status = status_by_jobs(tally)
        if status != "running":
            await self._stores.imports.finish(import_id, status)

    async def _work_together(self, import_id: str, size: int, stop: Stop, cancelled: asyncio.Event) -> None:
        crew = Crew(self._settings, import_id, size)
        stopping = [asyncio.create_task(_stop_after(crew, cause)) for cause in (stop, cancelled)]
        try:
            await crew.work()
        except CrewFailed as failure:
            if await self._stores.jobs.list(status="dead", group=import_id, limit=1):
                failure.next_step = (
                    "waypost job list --status dead, and once the reason is gone: waypost job revive --all"
                )
            raise
        finally:
            await end(*stopping)

    async def _work_alone(self, import_id: str, budget: Budget, stop: Stop, cancelled: asyncio.Event) -> None:
        jobs = self._settings.jobs
        engine = make_engine(self._settings, self._stores, self._source, budget)
        with Renewer(lambda: open_jobs(self._settings), jobs.lease) as renewer:
            rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
            worker = Worker(self._stores.jobs, renewer, engine.work, owner=self._owner, settings=jobs, rng=rng)
            stopping = [asyncio.create_task(_stop_after(worker, cause)) for cause in (stop, cancelled)]
            try:
                await worker.run_until_done(import_id)
            except Forbidden as refusal:
                # The shard that met it is dead; with the rest the import goes on by itself.
                refusal.next_step = f"{refusal.next_step}, after: waypost job revive --all"
                raise
            finally:
                await end(*stopping)

    async def _watch(
        self, import_id: str, before: Tally, started: float, on_progress: OnProgress, cancelled: asyncio.Event
    ) -> None:
        while True:
            # The workers say how long a store is waited for.
            with suppress(StoreTrouble):
                tally = await self._stores.jobs.tally(import_id)
                on_progress(self._measure(tally, before, started))
                if tally.jobs.get("cancelled"):
                    cancelled.set()
            await asyncio.sleep(_PROGRESS_SECONDS)

    def _measure(self, tally: Tally, before: Tally, started: float) -> Progress:
        return measure(
            tally,
            elapsed=monotonic() - started,
            finished_before=before.total - before.unfinished,
            limits=limits_of(self._settings, self._source),
        )


async def _stop_after(worker: Worker | Crew, cause: Stop | asyncio.Event) -> None:
    await cause.wait()
    worker.stop()
