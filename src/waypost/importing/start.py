"""Starts an import: checks that the provider accepts us, and enqueues what was planned. Workers do the rest."""

import random

import msgspec

from waypost.importing.check_provider import check_provider
from waypost.importing.imports import ImportStore
from waypost.importing.licences import remember_licence
from waypost.importing.plan import PlannedImport
from waypost.importing.source import Source
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.ratelimit.budget import Budget
from waypost.scaling.store_facts import Facts
from waypost.telemetry.logs import get_logger

log = get_logger("import")

PROVIDER = "provider"
# How the provider that `up` simulates is remembered, because its address changes from start to start.
SIMULATED = "simulated provider of"


class Started(msgspec.Struct, frozen=True):
    """An import that was enqueued, with the number of its shards."""

    id: str
    shards: int


async def start_import(
    planned: PlannedImport,
    source: Source,
    budget: Budget,
    imports: ImportStore,
    jobs: JobStore,
    facts: Facts,
    *,
    max_wait: float,
) -> Started:
    rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
    await check_provider(source, budget, max_wait=max_wait, rng=rng)
    await remember_provider(facts, source)
    await imports.start(planned.started)
    await jobs.enqueue([NewJob(str(shard)) for shard in planned.shards], group=planned.id)
    if await _is_cancelled(imports, planned.id):
        await jobs.cancel(planned.id)
    return Started(planned.id, len(planned.shards))


async def remember_provider(facts: Facts, source: Source) -> None:
    """Remembers a source's provider and licence. Each source has one; `up` asks which one Open Charge Map's is."""
    fact = PROVIDER if source.name == "ocm" else f"{PROVIDER}:{source.name}"
    await remember_licence(facts, source)
    known = await facts.get(fact)
    if known is None:
        await facts.set(fact, source.provider)
    elif known != source.provider and not known.startswith(SIMULATED):
        # It may well be the same one at another address; only a person can tell.
        log.warning("the places here came from another address so far", so_far=known, now=source.provider)


async def _is_cancelled(imports: ImportStore, import_id: str) -> bool:
    known = await imports.get(import_id)
    return known is not None and known.status == "cancelled"
