"""Cancels an import: those of its jobs that no other import or schedule wants."""

from waypost.importing.imports import ImportStanding, ImportStore, standing
from waypost.importing.inspect import find_import, standing_of
from waypost.kernel.errors import Conflict
from waypost.scaling.jobs.store import JobStore


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
