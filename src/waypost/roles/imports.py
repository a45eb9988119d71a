"""Looking at imports: how they stand, and what they did."""

from collections.abc import Sequence

from waypost.bootstrap import Stores
from waypost.importing.imports import Import, Report, Standing, report, standing
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import NotFound

# More shards than any import of ours has.
_ALL = 1_000_000


class UnknownImport(NotFound):
    """No import has this id."""

    slug = "unknown-import"


async def find_import(stores: Stores, import_id: str) -> Import:
    found = await stores.imports.get(import_id)
    if found is None:
        raise UnknownImport(f"there is no import {import_id[:80]!r}", next_step="waypost import status")
    return found


async def standing_of(stores: Stores, import_id: str) -> Standing:
    return standing(await find_import(stores, import_id), await stores.jobs.tally(import_id))


async def latest(stores: Stores, limit: int) -> Sequence[Standing]:
    return [standing(each, await stores.jobs.tally(each.id)) for each in await stores.imports.latest(limit)]


async def report_of(stores: Stores, import_id: str) -> Report:
    """What it did so far. Its time ends with its last job, and goes on while there are unfinished ones."""
    found, tally = await find_import(stores, import_id), await stores.jobs.tally(import_id)
    ended = [job.finished_at for job in await stores.jobs.list(group=import_id, limit=_ALL) if job.finished_at]
    until = utc_now() if tally.unfinished or not ended else max(ended)
    return report(import_id, tally, max(0.0, (until - found.started_at).total_seconds()))
