"""Cancels an import: those of its jobs that nobody else wants."""

from waypost.importing.imports import ImportStanding, ImportStore, standing
from waypost.importing.inspect import find_import, standing_of
from waypost.kernel.errors import Conflict
from waypost.scaling.jobs.store import JobStore


class ImportEnded(Conflict):
    """All jobs of the import have ended, so that there is nothing left to cancel."""

    slug = "import-ended"


async def cancel_import(imports: ImportStore, jobs: JobStore, import_id: str) -> ImportStanding:
    """Its jobs first, so that the same command finishes a cancellation that was broken off half way."""
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
    # Again: whoever has just started it may have enqueued its jobs before it could see that it is cancelled.
    await jobs.cancel(import_id)
    return await standing_of(imports, jobs, import_id)
