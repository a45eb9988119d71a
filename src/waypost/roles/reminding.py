"""Imports whose jobs were forgotten are enqueued again, and those whose places are all there are ended."""

import asyncio

from waypost.bootstrap.sources import open_source
from waypost.bootstrap.stores import Stores
from waypost.importing.imports import Import, status_by_jobs
from waypost.importing.reminding import remind
from waypost.kernel.errors import AskedWrongly, WaypostError
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("reminding")

_EVERY_SECONDS = 60.0
# Of the latest imports so many are looked at.
_LATEST = 50


async def keep_reminding(settings: Settings, stores: Stores) -> None:
    """Until cancelled. Beside their places jobs are not forgotten, and there is nothing to do."""
    while settings.storage.jobs:
        try:
            await remind_imports(settings, stores)
        except WaypostError as error:
            log.warning("imports are not looked after for now", error=error.slug, message=str(error))
        await asyncio.sleep(_EVERY_SECONDS)


async def remind_imports(settings: Settings, stores: Stores) -> None:
    for each in await stores.imports.latest(_LATEST):
        if each.status == "running" and settings.storage.jobs:
            await remind_import(settings, stores, each)


async def remind_import(settings: Settings, stores: Stores, running: Import) -> None:
    try:
        async with open_source(running.source, settings) as source:
            shards = [str(key) for key in source.plan(running.scope, running.started_at.date(), running.id)]
    except AskedWrongly:
        return  # another process has this source
    left = await remind(stores.jobs, stores.pages, shards, group=running.id)
    tally = await stores.jobs.tally(running.id)
    if not left and not tally.unfinished:
        await stores.imports.finish(running.id, status_by_jobs(tally) if tally.total else "done")
