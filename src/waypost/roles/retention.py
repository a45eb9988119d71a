"""The chore of roles that run all the time: once an hour, one of them forgets what was kept long enough."""

import asyncio
from datetime import timedelta

from waypost.bootstrap.stores import Stores
from waypost.kernel.clock import from_text, to_text
from waypost.kernel.errors import WaypostError
from waypost.roles.chores import prune, prune_events
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("retention")

_EVERY = timedelta(hours=1)
_LAST = "forgot-at"


async def keep_forgetting(settings: Settings, stores: Stores) -> None:
    """Until cancelled. Of all that share the store, whoever notes the hour first does it."""
    while True:
        try:
            await forget_old(settings, stores)
        except WaypostError as error:
            log.warning("what is old stays for now", error=error.slug, message=str(error))
        await asyncio.sleep(_EVERY.total_seconds())


async def forget_old(settings: Settings, stores: Stores) -> None:
    now, noted = await stores.pages.now(), await stores.facts.get(_LAST)
    if noted and now - from_text(noted) < _EVERY / 2:
        return
    if not await stores.facts.replace(_LAST, noted, to_text(now)):
        return
    if settings.jobs.retention:
        pruned = await prune(stores, older_than=settings.jobs.retention)
        if pruned:
            log.info("old jobs are forgotten", pruned=pruned)
    if settings.events.retention:
        events = await prune_events(stores, older_than=settings.events.retention)
        if events:
            log.info("old events are forgotten", events=events)
