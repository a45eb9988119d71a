"""Runs an import to its end: starts it, has it worked on, and reports."""

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Protocol

from waypost.importing.imports import ImportReport, ImportStore, report, status_by_jobs
from waypost.importing.pages import PageStore
from waypost.importing.plan import PlannedImport
from waypost.importing.progress import Progress, measure
from waypost.importing.reminding import remind_import
from waypost.importing.source import Source
from waypost.importing.start import start_import
from waypost.importing.started_imports import find_import
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import Forbidden, StoreTrouble, TerminalError, TransientError
from waypost.kernel.stopping import Stop
from waypost.kernel.tasks import end
from waypost.scaling.fact_store import Facts
from waypost.scaling.jobs.job import Tally
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.jobs.worker import Handler, Worker
from waypost.scaling.ratelimit.budget import Budget
from waypost.scaling.ratelimit.limits import Limit

OnProgress = Callable[[Progress], None]

_PROGRESS_SECONDS = 0.25
# How often an import whose jobs are lost is enqueued again before a person should find out why.
_REMINDERS = 10


class JobsLost(TerminalError):
    """Jobs were enqueued again and again, and are gone: something keeps flushing the store."""


class CrewFailed(TransientError):
    """A worker process ended in a way that the others would too; its own message is printed above."""


class Workforce(Protocol):
    """Works on one import: this process, or several others."""

    async def work(self) -> None:
        """Works until nothing of the import is left to do, or `stop`. Raises CrewFailed when a process cannot go on."""

    def stop(self) -> None:
        """Gives all jobs back and ends."""


# Returns the workforce for the import with this id and this number of unfinished jobs.
Hire = Callable[[str, int], Workforce]


@dataclass(frozen=True)
class Importer:
    """Runs imports of one source. Where jobs are kept apart, `pages` knows what is done even if they are lost."""

    source: Source
    budget: Budget
    imports: ImportStore
    jobs: JobStore
    pages: PageStore
    facts: Facts
    hire: Hire
    limits: Sequence[Limit]
    max_wait: float

    async def run(self, planned: PlannedImport, stop: Stop, on_progress: OnProgress) -> ImportReport:
        """Runs an import to its end. Raises the provider's refusal, after writing down how far it got."""
        began = monotonic()
        starting = start_import(
            planned, self.source, self.budget, self.imports, self.jobs, self.facts, max_wait=self.max_wait
        )
        await stop.interrupting(starting)
        before = await self.jobs.tally(planned.id)

        def show(tally: Tally) -> None:
            finished_before = before.total - before.unfinished
            elapsed = monotonic() - began
            on_progress(measure(tally, elapsed=elapsed, finished_before=finished_before, limits=self.limits))

        cancelled = asyncio.Event()
        watching = asyncio.create_task(self._watch(planned.id, show, cancelled))
        try:
            await self._work_to_the_end(planned, stop, cancelled)
        finally:
            await end(watching)
            after = await self.jobs.tally(planned.id)
            await self._write_down(planned.id, after)
            show(after)
        await self._refuse_loss(planned, after)
        return report(planned.id, after, monotonic() - began)

    async def _work_to_the_end(self, planned: PlannedImport, stop: Stop, cancelled: asyncio.Event) -> None:
        """Works again as long as jobs are lost, up to a limit."""
        await self._work(planned.id, stop, cancelled)
        for _ in range(_REMINDERS):
            if stop.is_set() or cancelled.is_set() or not await self._is_forgotten(planned):
                break
            await self._work(planned.id, stop, cancelled)

    async def _work(self, import_id: str, stop: Stop, cancelled: asyncio.Event) -> None:
        workforce = self.hire(import_id, (await self.jobs.tally(import_id)).unfinished)
        stopping = [asyncio.create_task(_stop_after(workforce, cause)) for cause in (stop, cancelled)]
        try:
            await workforce.work()
        except CrewFailed as failure:
            if await self.jobs.list(status="dead", group=import_id, limit=1):
                failure.next_step = (
                    "waypost job list --status dead, and once the reason is gone: waypost job revive --all"
                )
            raise
        finally:
            await end(*stopping)

    async def _is_forgotten(self, planned: PlannedImport) -> bool:
        """Whether jobs were lost and there is work left; enqueues again what the places lack."""
        if (await self.jobs.tally(planned.id)).total >= len(planned.shards):
            return False
        running = await find_import(self.imports, planned.id)
        await remind_import(running, planned.shards, self.imports, self.jobs, self.pages)
        return (await self.jobs.tally(planned.id)).unfinished > 0

    async def _write_down(self, import_id: str, tally: Tally) -> None:
        """Writes down how it ended. If it was stopped, it has not: its jobs are pending, and any worker may go on."""
        status = status_by_jobs(tally)
        if status != "running":
            await self.imports.finish(import_id, status)

    async def _refuse_loss(self, planned: PlannedImport, after: Tally) -> None:
        lost = len(planned.shards) - after.total
        if lost > 0 and (await find_import(self.imports, planned.id)).status == "running":
            raise JobsLost(
                f"the job store has lost {lost} of this import's {len(planned.shards)} jobs",
                next_step="find out why it forgets; workers go on with the import, and the places know how far it is",
            )

    async def _watch(self, import_id: str, show: Callable[[Tally], None], cancelled: asyncio.Event) -> None:
        while True:
            # The workers decide how long to wait for a store.
            with suppress(StoreTrouble):
                tally = await self.jobs.tally(import_id)
                show(tally)
                if tally.jobs.get("cancelled"):
                    cancelled.set()
            await asyncio.sleep(_PROGRESS_SECONDS)


async def _stop_after(workforce: Workforce, cause: Stop | asyncio.Event) -> None:
    await cause.wait()
    workforce.stop()


class LoneWorker:
    """`open_jobs` opens the same job store again, for the thread that renews leases; `owner` is the holder's name."""

    def __init__(
        self,
        import_id: str,
        handler: Handler,
        jobs: JobStore,
        open_jobs: Callable[[], AbstractAsyncContextManager[JobStore]],
        *,
        owner: str,
        settings: JobsSettings,
    ) -> None:
        self._import_id = import_id
        self._renewer = Renewer(open_jobs, settings.lease)
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._worker = Worker(jobs, self._renewer, handler, owner=owner, settings=settings, rng=rng)

    def stop(self) -> None:
        self._worker.stop()

    async def work(self) -> None:
        with self._renewer:
            try:
                await self._worker.run_until_done(self._import_id)
            except Forbidden as refusal:
                # The shard that met it is dead; the import goes on with the others by itself.
                refusal.next_step = f"{refusal.next_step}, after: waypost job revive --all"
                raise
