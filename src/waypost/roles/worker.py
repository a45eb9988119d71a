"""The worker role: works on whatever jobs there are, and gives them back when it is asked to stop."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack

from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.jobs import open_jobs
from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import Stores, open_stores
from waypost.importing.source import Source
from waypost.kernel.errors import AskedWrongly, NotNow
from waypost.kernel.tasks import end
from waypost.roles.chores import Chores
from waypost.roles.importer import make_engine, worker_name
from waypost.roles.kit.loop import Stop
from waypost.roles.reminding import keep_reminding
from waypost.roles.retention import keep_forgetting
from waypost.scaling.chores import OURSELVES
from waypost.scaling.jobs.job import Held
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.shards import ShardKey
from waypost.scaling.jobs.worker import Handler, Worker
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("worker")

OnStart = Callable[[str], None]


# A source that this worker does not have may come with the next release, or another worker has it.
_ELSEWHERE_SECONDS = 30.0


class SourceElsewhere(NotNow):
    """A worker cannot open the source that a job belongs to; another one may."""

    slug = "source-elsewhere"


class Desk:
    """Hands each job to whoever knows its kind: the source that its key begins with, or, for chores, ourselves."""

    def __init__(self, settings: Settings, stores: Stores, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stores = stores
        self._stack = stack
        self._handlers: dict[str, Handler] = {OURSELVES: Chores(settings, stores).work}
        self._unknown: dict[str, AskedWrongly] = {}
        self._opening = asyncio.Lock()

    async def work(self, held: Held) -> None:
        handler = await self._handler(ShardKey.parse(held.lease.shard).source)
        await handler(held)

    async def _handler(self, name: str) -> Handler:
        async with self._opening:
            if name not in self._handlers:
                source = await self._open(name)
                budget = await self._stack.enter_async_context(open_budget(self._settings))
                self._handlers[name] = make_engine(self._settings, self._stores, source, budget).work
            return self._handlers[name]

    async def _open(self, name: str) -> Source:
        """What is wrong with this process's settings is no fault of the job."""
        try:
            if name not in self._unknown:
                return await self._stack.enter_async_context(open_source(name, self._settings))
        except AskedWrongly as error:
            self._unknown[name] = error
            log.warning(
                "jobs of this source are left to others",
                source=name,
                message=str(error),
                next_step="check WAYPOST_SOURCES here, and start this worker again",
            )
        raise SourceElsewhere(f"{name}: {self._unknown[name]}", retry_in=_ELSEWHERE_SECONDS)


async def run_worker(
    settings: Settings, stop: Stop, on_start: OnStart, *, until_done: bool = False, import_id: str | None = None
) -> None:
    """On all jobs, until asked to stop; or until nothing is left to do, of all or of one import."""
    name = worker_name()
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings))
        await _show_health(settings, stores, stack)
        desk = Desk(settings, stores, stack)
        renewer = stack.enter_context(Renewer(lambda: open_jobs(settings), settings.jobs.lease))
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        worker = Worker(stores.jobs, renewer, desk.work, owner=name, settings=settings.jobs, rng=rng)
        chores = [asyncio.create_task(each(settings, stores)) for each in (keep_reminding, keep_forgetting)]
        stopping = asyncio.create_task(stop.wait())
        stopping.add_done_callback(lambda _done: worker.stop())
        on_start(name)
        try:
            if import_id is not None:
                await worker.run_until_done(import_id)
            else:
                await (worker.run_until_idle() if until_done else worker.run())
        finally:
            stopping.cancel()
            await end(*chores)


async def _show_health(settings: Settings, stores: Stores, stack: AsyncExitStack) -> None:
    """Only where it is wanted: loading a web framework would be most of what a worker needs to start."""
    if settings.web.health_port:
        from waypost.roles.kit.health_port import health_port  # noqa: PLC0415 - as above
        from waypost.roles.serve import store_probe  # noqa: PLC0415 - as above

        await stack.enter_async_context(health_port(settings, {"store": store_probe(stores)}))
