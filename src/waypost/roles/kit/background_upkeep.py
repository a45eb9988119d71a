"""What long-running processes do beside their work: forget what is old, and enqueue again what was lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import Stores
from waypost.importing.reminding import keep_reminding
from waypost.importing.retention import Retention
from waypost.kernel.tasks import end
from waypost.settings import Settings


@asynccontextmanager
async def upkeep(settings: Settings, stores: Stores) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(retention(settings, stores).keep_forgetting())]
    # Jobs that are kept in the same store as their places are never lost.
    if settings.storage.jobs:
        opener = partial(open_source, settings=settings)
        reminding = keep_reminding(opener, stores.imports, stores.jobs, stores.pages, retention=settings.jobs.retention)
        tasks.append(asyncio.create_task(reminding))
    try:
        yield
    finally:
        await end(*tasks)


def retention(settings: Settings, stores: Stores) -> Retention:
    return Retention(
        facts=stores.facts,
        pages=stores.pages,
        imports=stores.imports,
        jobs=stores.jobs,
        outbox=stores.outbox,
        keep_jobs=settings.jobs.retention,
        keep_events=settings.events.retention,
    )
