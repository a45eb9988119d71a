"""Hands a worker's jobs to their handlers: the source that a key begins with or, for chores, ourselves."""

import asyncio
from contextlib import AsyncExitStack

from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import Stores
from waypost.importing.source import Source
from waypost.kernel.errors import AskedWrongly, NotNow
from waypost.roles.kit.chore_jobs import Chores
from waypost.roles.kit.importer_assembly import make_engine
from waypost.scaling.jobs.job import Held
from waypost.scaling.jobs.shard_keys import OURSELVES, ShardKey
from waypost.scaling.jobs.worker import Handler
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("worker")

# A source that this worker does not have may come with the next release, or another worker has it.
_ELSEWHERE_SECONDS = 30.0


class SourceElsewhere(NotNow):
    """A worker cannot open the source that a job belongs to; another one may."""

    slug = "source-elsewhere"


class JobDispatcher:
    """Hands each job to the handler of its kind. Sources are opened when their first job comes."""

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
        """Raises SourceElsewhere if our settings lack the source: the job is not at fault."""
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
