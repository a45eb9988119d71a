"""Puts an importer together, from what was configured and opened: it works in this process, or in several beside it."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

from waypost.bootstrap.jobs import open_jobs
from waypost.bootstrap.stores import Stores
from waypost.importing.engine import Engine
from waypost.importing.plan import limits_of
from waypost.importing.run import CrewFailed, Importer, LoneWorker, Workforce
from waypost.importing.source import Source
from waypost.kernel.tasks import end
from waypost.roles.kit.child_process import environ_of
from waypost.scaling.ratelimit.budget import Budget
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("crew")

# A process that is killed is replaced; one that is killed again and again has a reason to be.
_MOST_KILLED = 20


class ImportProcesses:
    """`size` processes, each a `waypost worker run` for this import."""

    def __init__(self, settings: Settings, import_id: str, size: int) -> None:
        self._command = [sys.executable, "-m", "waypost", "worker", "run", "--import", import_id]
        self._command += ["--parent", str(os.getpid())]
        self._command += ["--config", str(settings.file)] if settings.file else []
        self._environ = environ_of(settings)
        self._size = size
        self._running: set[asyncio.subprocess.Process] = set()
        self._stopping = False
        self._killed = 0

    def stop(self) -> None:
        """Asks the processes to give their jobs back and end."""
        self._stopping = True
        for process in self._running:
            _ask_to_end(process)

    async def work(self) -> None:
        """Runs until the import is done or `stop` is called. Raises CrewFailed when a process cannot go on."""
        members = [asyncio.create_task(self._member()) for _ in range(self._size)]
        try:
            await asyncio.gather(*members)
        finally:
            self.stop()
            await asyncio.wait(members)
            await end(*members)

    async def _member(self) -> None:
        while not self._stopping:
            code = await self._run_one()
            if code == 0 or self._stopping:
                return
            if code > 0:
                raise CrewFailed(f"a worker process ended with exit code {code}; the reason is told above")
            self._killed += 1
            if self._killed > _MOST_KILLED:
                raise CrewFailed(f"worker processes were killed {self._killed} times, the last by signal {-code}")
            log.warning("a worker process was killed; another takes its place", signal=-code)

    async def _run_one(self) -> int:
        process = await asyncio.create_subprocess_exec(*self._command, env=self._environ)
        self._running.add(process)
        if self._stopping:  # stop was called while this process started
            _ask_to_end(process)
        try:
            return await process.wait()
        finally:
            self._running.discard(process)


def _ask_to_end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


def make_engine(settings: Settings, stores: Stores, source: Source, budget: Budget) -> Engine:
    return Engine(
        source, stores.pages, stores.imports, budget, settings=settings.importing, max_wait=settings.budget.max_wait
    )


def make_importer(
    settings: Settings, stores: Stores, source: Source, budget: Budget, *, owner: str, processes: int = 1
) -> Importer:
    """An importer whose work is done by this process, which holds leases as `owner`, or by up to `processes` others."""

    def hire(import_id: str, unfinished: int) -> Workforce:
        size = min(processes, unfinished)
        if size > 1:
            return ImportProcesses(settings, import_id, size)
        handler = make_engine(settings, stores, source, budget).work
        return LoneWorker(
            import_id, handler, stores.jobs, lambda: open_jobs(settings), owner=owner, settings=settings.jobs
        )

    return Importer(
        source,
        budget,
        imports=stores.imports,
        jobs=stores.jobs,
        pages=stores.pages,
        facts=stores.facts,
        hire=hire,
        limits=limits_of(source, settings.budget.limits),
        max_wait=settings.budget.max_wait,
    )
