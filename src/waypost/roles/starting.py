"""Starts an import: plans it, makes sure that the provider wants us, and enqueues it. Working on it is for others."""

import random

import msgspec

from waypost.bootstrap.stores import Stores
from waypost.importing.imports import Import
from waypost.importing.licences import remember_licence
from waypost.importing.source import Scope, Source
from waypost.kernel.clock import utc_now
from waypost.kernel.ids import new_id
from waypost.roles.checking import check_provider
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.ratelimit.budget import Budget
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("import")

PROVIDER = "provider"
# How the provider that `up` simulates is remembered; its address changes from start to start.
SIMULATED = "simulated provider of"


class Started(msgspec.Struct, frozen=True):
    """An import that was enqueued, with the number of its shards."""

    id: str
    shards: int


async def start_import(settings: Settings, stores: Stores, source: Source, budget: Budget, scope: Scope) -> Started:
    import_id = str(new_id())
    # The same day for the plan and for the record of it, so that it can be planned again.
    now = utc_now()
    shards = source.plan(scope, now.date(), import_id)
    rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
    await check_provider(source, budget, max_wait=settings.budget.max_wait, rng=rng)
    await remember_provider(stores, source)
    await stores.imports.start(Import(import_id, source.name, scope, "running", now))
    await stores.jobs.enqueue([NewJob(str(shard)) for shard in shards], group=import_id)
    if await is_cancelled(stores, import_id):
        await stores.jobs.cancel(import_id)
    return Started(import_id, len(shards))


async def is_cancelled(stores: Stores, import_id: str) -> bool:
    known = await stores.imports.get(import_id)
    return known is not None and known.status == "cancelled"


async def remember_provider(stores: Stores, source: Source) -> None:
    """Who it is, and under which terms. Each source has one; `up` asks which one Open Charge Map's is."""
    fact = PROVIDER if source.name == "ocm" else f"{PROVIDER}:{source.name}"
    await remember_licence(stores.facts, source)
    known = await stores.facts.get(fact)
    if known is None:
        await stores.facts.set(fact, source.provider)
    elif known != source.provider and not known.startswith(SIMULATED):
        # It may well be the same one at another address; only a person can tell.
        log.warning("the places here came from another address so far", so_far=known, now=source.provider)
