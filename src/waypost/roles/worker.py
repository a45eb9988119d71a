"""The worker role: works on whatever jobs there are, and gives them back when it is asked to stop.

In order: the stores are opened, once they are up (roles/kit/store_opening.py), jobs are claimed
(scaling/jobs/worker.py), a thread keeps their leases alive, and each job is handed to its source's engine or to a chore
(roles/kit/job_dispatcher.py).
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from waypost.bootstrap.jobs import open_jobs
from waypost.bootstrap.stores import open_stores
from waypost.kernel.stopping import Stop
from waypost.roles.kit.background_upkeep import upkeep
from waypost.roles.kit.health_port import health_port
from waypost.roles.kit.job_dispatcher import JobDispatcher
from waypost.roles.kit.store_opening import open_patiently
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.worker import Worker, worker_name
from waypost.settings import Settings

OnStart = Callable[[str], None]


async def run_worker(
    settings: Settings, stop: Stop, on_start: OnStart, *, until_done: bool = False, import_id: str | None = None
) -> None:
    """Works on all jobs until asked to stop; or until nothing is left to do, of all jobs or of one import's."""
    name = worker_name()
    async with AsyncExitStack() as stack:
        opening = partial(open_stores, settings)
        stores = await open_patiently(opening, stack, stop, patience=settings.jobs.store_patience)
        if stores is None:
            return
        await stack.enter_async_context(health_port(settings, stores.facts, stores.jobs))
        dispatcher = JobDispatcher(settings, stores, stack)
        renewer = stack.enter_context(Renewer(lambda: open_jobs(settings), settings.jobs.lease))
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        worker = Worker(stores.jobs, renewer, dispatcher.work, owner=name, settings=settings.jobs, rng=rng)
        await stack.enter_async_context(upkeep(settings, stores))
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
