"""The worker role: works on whatever jobs there are, and gives them back when it is asked to stop."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack

from waypost.bootstrap import Stores, open_budget, open_jobs, open_source, open_stores
from waypost.importing.engine import Engine
from waypost.roles.chores import Chores
from waypost.roles.health import health_port
from waypost.roles.importer import worker_name
from waypost.roles.running import Stop
from waypost.roles.serving import store_probe
from waypost.scaling.chores import OURSELVES
from waypost.scaling.jobs.job import Held
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.shards import ShardKey
from waypost.scaling.jobs.worker import Handler, Worker
from waypost.settings import Settings

OnStart = Callable[[str], None]


class Desk:
    """Hands each job to whoever knows its kind: the source that its key begins with, or, for chores, ourselves."""

    def __init__(self, settings: Settings, stores: Stores, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stores = stores
        self._stack = stack
        self._handlers: dict[str, Handler] = {OURSELVES: Chores(settings, stores).work}
        self._opening = asyncio.Lock()

    async def work(self, held: Held) -> None:
        handler = await self._handler(ShardKey.parse(held.lease.shard).source)
        await handler(held)

    async def _handler(self, name: str) -> Handler:
        async with self._opening:
            if name not in self._handlers:
                source = await self._stack.enter_async_context(open_source(name, self._settings))
                budget = await self._stack.enter_async_context(open_budget(self._settings))
                engine = Engine(source, self._stores.pages, budget, max_wait=self._settings.budget.max_wait)
                self._handlers[name] = engine.work
            return self._handlers[name]


async def run_worker(settings: Settings, stop: Stop, on_start: OnStart, *, until_done: bool) -> None:
    name = worker_name()
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(settings))
        await stack.enter_async_context(health_port(settings, {"store": store_probe(stores)}))
        desk = Desk(settings, stores, stack)
        renewer = stack.enter_context(Renewer(lambda: open_jobs(settings), settings.jobs.lease))
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        worker = Worker(stores.jobs, renewer, desk.work, owner=name, settings=settings.jobs, rng=rng)
        stopping = asyncio.create_task(stop.wait())
        stopping.add_done_callback(lambda _done: worker.stop())
        on_start(name)
        try:
            await (worker.run_until_idle() if until_done else worker.run())
        finally:
            stopping.cancel()
