"""Looks at imports that were started (how they stand, and what they did), and cancels them."""

from collections.abc import Sequence

from waypost.importing.imports import DetailedReport, Import, ImportStanding, ImportStore, detailed, report, standing
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import Conflict, NotFound
from waypost.scaling.jobs.store import JobStore

# More shards than any import of ours has.
_ALL = 1_000_000
# Rejected records that a report shows.
_REJECTS_SHOWN = 20


class UnknownImport(NotFound):
    """No import has this id."""


async def find_import(imports: ImportStore, import_id: str) -> Import:
    found = await imports.get(import_id)
    if found is None:
        raise UnknownImport(f"there is no import {import_id[:80]!r}", next_step="waypost import status")
    return found


async def standing_of(imports: ImportStore, jobs: JobStore, import_id: str) -> ImportStanding:
    return standing(await find_import(imports, import_id), await jobs.tally(import_id))


async def latest_imports(imports: ImportStore, jobs: JobStore, limit: int) -> Sequence[ImportStanding]:
    return [standing(each, await jobs.tally(each.id)) for each in await imports.latest(limit)]


async def report_of(imports: ImportStore, jobs: JobStore, import_id: str) -> DetailedReport:
    """What an import has done so far, with some of the records that its shards rejected.

    Its time ends when its last job ends, and goes on while jobs are unfinished.
    """
    found, tally = await find_import(imports, import_id), await jobs.tally(import_id)
    its_jobs = await jobs.list(group=import_id, limit=_ALL)
    ended = [job.finished_at for job in its_jobs if job.finished_at]
    until = utc_now() if tally.unfinished or not ended else max(ended)
    brief = report(import_id, tally, max(0.0, (until - found.started_at).total_seconds()))
    rejecting = [job.shard for job in its_jobs if job.counters.get("rejected")]
    rejects = await imports.rejects(rejecting, _REJECTS_SHOWN)
    return detailed(brief, its_jobs, rejects, cancelled=standing(found, tally).status == "cancelled")


class ImportEnded(Conflict):
    """All jobs of the import have ended, so there is nothing left to cancel."""


async def cancel_import(imports: ImportStore, jobs: JobStore, import_id: str) -> ImportStanding:
    """Cancels the jobs first, so that running the command again finishes a cancellation that was interrupted."""
    known = await find_import(imports, import_id)
    await jobs.cancel(import_id)
    now = standing(known, await jobs.tally(import_id))
    if now.status in {"done", "failed"}:
        raise ImportEnded(
            f"the import {import_id} is {now.status} already: all its jobs have ended",
            next_step=f"waypost import report {import_id}",
        )
    if known.status != "cancelled":
        await imports.finish(import_id, "cancelled")
    # Again: a process that is just starting the import may have enqueued jobs before it could see the cancellation.
    await jobs.cancel(import_id)
    return await standing_of(imports, jobs, import_id)
