"""Looking at imports, how they stand and what they did; and cancelling them."""

from collections.abc import Sequence

from waypost.bootstrap.stores import Stores
from waypost.importing.imports import DetailedReport, Import, Standing, detailed, report, standing
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import Conflict, NotFound

# More shards than any import of ours has.
_ALL = 1_000_000
# Rejected records that a report shows.
_REJECTS_SHOWN = 20


class UnknownImport(NotFound):
    """No import has this id."""

    slug = "unknown-import"


class ImportEnded(Conflict):
    """All jobs of the import have ended, so that there is nothing left to cancel."""

    slug = "import-ended"


async def find_import(stores: Stores, import_id: str) -> Import:
    found = await stores.imports.get(import_id)
    if found is None:
        raise UnknownImport(f"there is no import {import_id[:80]!r}", next_step="waypost import status")
    return found


async def standing_of(stores: Stores, import_id: str) -> Standing:
    return standing(await find_import(stores, import_id), await stores.jobs.tally(import_id))


async def latest(stores: Stores, limit: int) -> Sequence[Standing]:
    return [standing(each, await stores.jobs.tally(each.id)) for each in await stores.imports.latest(limit)]


async def cancel_import(stores: Stores, import_id: str) -> Standing:
    """Its jobs first, so that what was broken off half way is done again by the same command."""
    known = await find_import(stores, import_id)
    await stores.jobs.cancel(import_id)
    now = standing(known, await stores.jobs.tally(import_id))
    if now.status in {"done", "failed"}:
        raise ImportEnded(
            f"the import {import_id} is {now.status} already: all its jobs have ended",
            next_step=f"waypost import report {import_id}",
        )
    if known.status != "cancelled":
        await stores.imports.finish(import_id, "cancelled")
    # Again: whoever has just started it may have enqueued its jobs before it could see that it is cancelled.
    await stores.jobs.cancel(import_id)
    return await standing_of(stores, import_id)


async def report_of(stores: Stores, import_id: str) -> DetailedReport:
    """What it did so far, with some of the records that its shards rejected.

    Its time ends with its last job, and goes on while there are unfinished ones.
    """
    found, tally = await find_import(stores, import_id), await stores.jobs.tally(import_id)
    jobs = await stores.jobs.list(group=import_id, limit=_ALL)
    ended = [job.finished_at for job in jobs if job.finished_at]
    until = utc_now() if tally.unfinished or not ended else max(ended)
    brief = report(import_id, tally, max(0.0, (until - found.started_at).total_seconds()))
    rejecting = [job.shard for job in jobs if job.counters.get("rejected")]
    rejects = await stores.imports.rejects(rejecting, _REJECTS_SHOWN)
    return detailed(brief, jobs, rejects, cancelled=standing(found, tally).status == "cancelled")
